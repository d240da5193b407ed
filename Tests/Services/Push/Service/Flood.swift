import Foundation
import NIOHPACK
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

/// A flood of notifications, and its devices.
final class Flood: Sendable {
    enum Variation: String, CaseIterable, Sendable {
        /// No expirations, and devices stay connected.
        case plain
        /// All kinds of expirations, collapse ids, and devices that reconnect.
        case mixed
    }

    /// The expiration of a notification.
    enum Expiration: CaseIterable, Sendable { case absent, zero, future }

    /// The properties of a sent notification.
    struct Sent: Sendable {
        var device: String
        var silent = false
        var expiration = Expiration.absent
        var collapseID: String?
    }

    final class Tokens: Sendable {
        private let all = Mutex<[(device: String, token: String)]>([])
        func append(_ token: String, of device: String) { all.withLock { $0.append((device, token)) } }
        func pick(_ number: Int) -> (device: String, token: String) { all.withLock { $0[number % $0.count] } }
        var devices: [String] { all.withLock { $0.map(\.device) } }
    }

    /// The number of devices, the first ones, that hold connections.
    static let listeners = 5

    let variation: Variation
    let bearer: String
    let tokens = Tokens()
    /// The notifications with answer 200, by `apns-id`.
    let accepted = Mutex<[String: Sent]>([:])
    /// The number of deliveries of each notification, by `apns-unique-id`.
    let copies = Mutex<[String: Int]>([:])
    /// The `apns-unique-id`s whose acknowledgement was answered.
    let acknowledged = Mutex<Set<String>>([])
    /// The number of provider connections that ended with requests in progress.
    let cut = Atomic(0)
    /// The number of reconnections that a device itself caused.
    let comings = Atomic(0)
    let sendersLeft = Atomic(4)
    let isOver = Atomic(false)

    init(_ variation: Variation, bearer: String) {
        self.variation = variation
        self.bearer = bearer
    }

    /// Sends in bursts over one connection until it breaks.
    func send(_ suite: PushSuite, lane: Int, port: Int, rounds: Int) async {
        guard let client = try? await HTTP2Client.connect(port: port, authority: suite.authority) else { return }
        var stream = 1
        for round in 0..<rounds {
            // One stream until the first valid token.
            let count = round == 0 ? 1 : 20
            var sent: [String: Sent] = [:]
            do {
                for index in 0..<count {
                    let id = UUID().uuidString.lowercased()
                    sent[id] = try await send(client, stream + 2 * index, id, lane * 7 + round * count + index)
                }
                for answer in try await client.answers(from: stream, count: count) where answer.status == "200" {
                    guard let id = answer.headers.first(name: "apns-id") else { continue }
                    accepted.withLock { $0[id] = sent[id] }
                }
            } catch {
                cut.add(1, ordering: .relaxed)
                break
            }
            stream += 2 * count
        }
        await client.close()
    }

    private func send(_ client: HTTP2Client, _ stream: Int, _ id: String, _ number: Int) async throws -> Sent {
        let target = tokens.pick(number)
        // Every fourth notification is silent.
        var sent = Sent(device: target.device, silent: number.isMultiple(of: 4))
        var headers = [
            ("authorization", "bearer \(bearer)"), ("apns-topic", PushSuite.app), ("apns-id", id),
            ("apns-priority", sent.silent ? "5" : "10"),
        ]
        if variation == .mixed {
            // 3, 4 and 5 have no common factor: each device gets all combinations.
            sent.expiration = Expiration.allCases[number % 3]
            if number.isMultiple(of: 5) { sent.collapseID = "score" }
            switch sent.expiration {
            case .absent: break
            case .zero: headers.append(("apns-expiration", "0"))
            case .future: headers.append(("apns-expiration", "\(RealClock().now.milliseconds / 1000 + 3600)"))
            }
            if let collapseID = sent.collapseID { headers.append(("apns-collapse-id", collapseID)) }
        }
        let body = sent.silent ? #"{"aps":{"content-available":1}}"# : #"{"aps":{"alert":"\#(number)"}}"#
        try await client.request(stream, "POST", "/3/device/\(target.token)", headers, body: Array(body.utf8))
        return sent
    }

    // MARK: Devices

    /// Acknowledges the notifications of a device, and reconnects when its connection ends.
    func listen(
        _ suite: PushSuite, _ device: String, _ restarted: Signal<(port: Int, apns: Int)>
    ) async throws {
        var port = suite.push
        var visits = 0
        while !isOver.load(ordering: .relaxed), !Task.isCancelled {
            visits += 1
            // Alternates between a lost network and a new connection that replaces the old one.
            let losesNetwork = visits.isMultiple(of: 2)
            do {
                var stream = try await DeviceStream(suite, device, port: port)
                var count = 0
                var leaves = false
                while !leaves, let notification = try await stream.next() {
                    try await take(notification, suite, device, port: port)
                    count += 1
                    leaves = variation == .mixed && count == 5
                }
                if leaves {
                    if losesNetwork { try await loseNetwork(suite, device, port: port) }
                    comings.add(1, ordering: .relaxed)
                    continue
                }
            } catch is CancellationError { return } catch {
                // The process was killed.
            }
            port = try await restarted.value().port
            try await network("wifi", suite, device, port: port)
        }
    }

    /// Records a notification and acknowledges it.
    private func take(_ notification: JSON, _ suite: PushSuite, _ device: String, port: Int) async throws {
        let id = notification["id"]?.string ?? ""
        copies.withLock { $0[id, default: 0] += 1 }
        let answer = try await suite.send("POST", "/v1/devices/\(device)/notifications/\(id)/ack", port: port)
        if answer.status == 204 { _ = acknowledged.withLock { $0.insert(id) } }
    }

    private func loseNetwork(_ suite: PushSuite, _ device: String, port: Int) async throws {
        try await network("none", suite, device, port: port)
        try await network("wifi", suite, device, port: port)
    }

    /// Changes the network and returns when `push` knows of it.
    private func network(_ kind: String, _ suite: PushSuite, _ device: String, port: Int) async throws {
        let path = "/v1/devices/\(device)"
        let changed = try await suite.send(
            "PATCH", path + "/conditions", ["network": ["kind": .string(kind)]], port: suite.lifecycle)
        guard changed.status == 200 else { throw HostileFailure("the network of \(device): \(changed)") }
        guard let position = changed.headers["dormouse-position"] else { return }
        try await eventually(within: 60, describe: "push knows the network") {
            let asked = try await suite.send(
                "GET", path + "/apps/\(PushSuite.app)/explain", port: port, ["Dormouse-Position": position])
            return asked.status == 200
        }
    }

    /// Delivers the remaining notifications to the devices that held connections.
    func settle(_ suite: PushSuite, port: Int) async throws {
        for device in tokens.devices.prefix(Self.listeners) {
            try await network("wifi", suite, device, port: port)
            while case let items = try await poll(suite, device, port: port), !items.isEmpty {
                for item in items { try await take(item, suite, device, port: port) }
            }
        }
    }

    /// Returns the notifications of a poll.
    func poll(_ suite: PushSuite, _ device: String, port: Int) async throws -> [JSON] {
        let answer = try await suite.send("GET", "/v1/devices/\(device)/notifications?wait=0", port: port)
        guard answer.status == 200 else { throw HostileFailure("a poll of \(device): \(answer)") }
        return answer.json["items"]?.items ?? []
    }
}
