import Foundation
import NIOHTTP1
import Records
import TestSupport

/// Sends broadcasts to a channel to which every honest device subscribes: each device must receive each broadcast once.
struct Broadcaster {
    let honest: HonestClient
    let provider: Provider
    let channel: String
    let devices: Set<String>
    let pause: Duration
    private var random: SplitMix64

    /// Creates the channel, and subscribes the apps of all devices.
    init(
        _ honest: HonestClient, _ provider: Provider, _ devices: [HonestDevice], pause: Duration, seed: UInt64
    ) async throws {
        (self.honest, self.provider, self.pause) = (honest, provider, pause)
        random = SplitMix64(seed: seed)
        self.devices = Set(devices.map(\.key))
        let push = honest.suite.replicas(of: .push)[0].directAddress
        let configuration: JSON = ["message-storage-policy": 1, "push-type": "LiveActivity"]
        let create = Call(
            .POST, "/1/apps/\(HonestDevice.app)/channels", body: configuration.bytes,
            headers: [("authorization", provider.authorization)])
        let made = try await honest.client.send(create, to: push, within: 20, authorized: false)
        guard let channel = made.headers.first(name: "apns-channel-id") else {
            throw AttackFailed("no channel: \(made.status) \(made.excerpt)")
        }
        self.channel = channel
        for device in devices {
            let registration: JSON = ["environment": "sandbox", "channels": [.string(channel)]]
            let path = device.path(of: HonestDevice.app) + "/registration"
            try await honest.client.require(Call(.PUT, path, registration), to: push)
        }
    }

    /// Runs until it is stopped.
    mutating func run(while goesOn: @Sendable () -> Bool) async {
        var number = 0
        while goesOn(), !Task.isCancelled {
            number += 1
            await send(number)
            try? await Task.sleep(for: pause * Double.random(in: 0.5..<1.5, using: &random))
        }
    }

    private mutating func send(_ number: Int) async {
        var record = CommandRecord(kind: .broadcast, key: "")
        record.targets = devices
        let payload: JSON = ["aps": ["event": "update", "timestamp": .int(number), "content-state": [:]]]
        let headers = [
            ("authorization", provider.authorization), ("apns-push-type", "liveactivity"),
            ("apns-channel-id", channel), ("apns-priority", "10"), ("apns-expiration", "2000000000"),
        ]
        let honest = honest
        await honest.perform(record, isRepeatable: false, random: &random) { replica, command in
            // The log stores this id as the correlation of each device's event.
            let id = ("apns-request-id", honest.ledger.identifier(command))
            let call = Call(
                .POST, "/4/broadcasts/apps/\(HonestDevice.app)", body: payload.bytes, headers: headers + [id])
            let address = Bool.random() ? replica.address : replica.apnsAddress ?? replica.address
            let answer = try await honest.client.send(
                call, to: address, within: HonestClient.attemptSeconds, authorized: false)
            return HonestClient.judge(answer)
        }
    }
}
