import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// The devices for hostile requests only.
final class HostileTargets: Sendable {
    static let app = "com.example.hostile"
    static let count = 4

    private let known = Mutex<[Int: String]>([:])

    /// Tokens for notifications; some of them are invalid.
    var tokens: [String] {
        known.withLock { Array($0.sorted { $0.key < $1.key }.map(\.value)) }
            + [String(repeating: "f", count: 64), "0"]
    }

    /// Restores the devices repeatedly, whatever hostile requests did to them.
    func keep(_ suite: AttackedSuite, _ client: AttackClient, while goesOn: @Sendable () -> Bool) async {
        while goesOn(), !Task.isCancelled {
            for number in 0..<Self.count { try? await make(number, suite, client) }
            for _ in 0..<100 where goesOn() { try? await Task.sleep(for: .milliseconds(100)) }
        }
    }

    private func make(_ number: Int, _ suite: AttackedSuite, _ client: AttackClient) async throws {
        let device = "/v1/devices/hostile-\(number)"
        let app = "\(device)/apps/\(Self.app)"
        let manifest: JSON = [
            "backgroundModes": ["fetch", "processing", "remote-notification", "audio", "location"],
            "notificationAuthorization": "authorized", "permittedTaskIdentifiers": ["clean"],
        ]
        let calls = [
            Call(.PUT, device, ["profile": "ios18", "fleet": "hostile"]), Call(.PUT, app, manifest),
            Call(.POST, "\(device)/power", ["event": "on"]), Call(.POST, "\(app)/transitions", ["event": "launch"]),
        ]
        var position = ""
        for call in calls {
            let replica = suite.replicas(of: .lifecycle).randomElement()
            let answer = try await client.send(call, to: replica?.directAddress ?? "")
            position = answer.headers.first(name: "Dormouse-Position") ?? position
        }
        var register = Call(.PUT, "\(app)/registration", ["environment": "sandbox"])
        register.headers.append(("Dormouse-Position", position))
        let push = suite.replicas(of: .push).randomElement()?.directAddress ?? ""
        let token = try await client.send(register, to: push).json["token"]?.string
        if let token { known.withLock { $0[number] = token } }
        var session = Call(.PUT, "\(app)/sessions/s", [:])
        session.headers.append(("Dormouse-Position", position))
        _ = try await client.send(session, to: suite.replicas(of: .transfer).randomElement()?.directAddress ?? "")
    }
}
