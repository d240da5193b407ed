import NIOHTTP1
import Records
import TestSupport

/// A provider of notifications with a key of its own, over HTTP/1.1 and over HTTP/2 with TLS.
final class Provider: Sendable {
    private let token = ProviderToken()

    /// Registers the key with `push`, and waits until every replica accepts it.
    func register(_ suite: AttackedSuite, _ client: AttackClient) async throws {
        let replicas = suite.replicas(of: .push)
        try await client.require(Call(.POST, "/v1/provider-keys", token.registration), to: replicas[0].directAddress)
        // The endpoint checks the key before the device token, so an unknown device token suffices.
        let call = Call(
            .POST, "/3/device/" + String(repeating: "0", count: 64), body: Array(#"{"aps":{"alert":"a"}}"#.utf8),
            headers: headers(silent: false))
        for replica in replicas {
            try await eventually(within: 30, describe: "\(replica.name) knows the provider's key") {
                let answer = try await client.send(call, to: replica.directAddress, authorized: false)
                return answer.reason == "BadDeviceToken"
            }
        }
    }

    /// Sends a notification, without retries after an unknown outcome: the APNs protocol has no idempotency key.
    func notify(
        _ device: HonestDevice, number: Int, isHTTP2: Bool, _ honest: HonestClient, _ random: inout SplitMix64
    ) async {
        let kind = isHTTP2 ? CommandKind.notifyOverHTTP2 : .notifyOverHTTP1
        let isSilent = number % 3 == 0
        let aps: JSON = isSilent ? ["content-available": 1] : ["alert": .string("Number \(number)")]
        let payload: JSON = ["aps": aps, "number": .int(number)]
        await honest.perform(
            CommandRecord(kind: kind, key: device.key), isRepeatable: false, random: &random
        ) { replica, command in
            // HTTP/2 requests carry no trace here, but the log stores the id as the correlation of the events.
            let id = ("apns-id", honest.ledger.identifier(command))
            let call = Call(
                .POST, "/3/device/\(device.token)", body: payload.bytes, headers: headers(silent: isSilent) + [id])
            let address = isHTTP2 ? replica.apnsAddress ?? replica.address : replica.address
            let answer = try await honest.client.send(
                call, to: address, within: HonestClient.attemptSeconds, authorized: false)
            return HonestClient.judge(answer)
        }
    }

    func headers(silent: Bool) -> [(String, String)] {
        [
            ("authorization", authorization), ("apns-topic", HonestDevice.app),
            ("apns-push-type", silent ? "background" : "alert"), ("apns-priority", silent ? "5" : "10"),
        ]
    }

    /// The value of the `authorization` header.
    var authorization: String { "bearer \(token.text)" }
}
