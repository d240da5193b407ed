import Foundation
import Identity
import Records
import TestSupport
import Testing

private let python = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
    .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// The example devices with real services.
@Suite(
    "The examples of devices with pushes", .tags(.database, .processes), .timeLimit(.minutes(4)),
    .enabled(if: python != nil, "python3 is missing"))
struct PushExampleTests {
    private static let key = "correct-horse"

    /// Starts `lifecycle`, `push` and an example.
    ///
    /// - Parameter body: gets the suite, the example and the device token that it prints.
    private func withExample(
        _ example: String, _ arguments: [String] = [],
        _ body: @escaping @Sendable (PushSuite, ChildProcess, String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "example-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let keys = folder.appending(path: "keys")
        let line = OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: Self.key)
        try line.write(to: keys, atomically: true, encoding: .utf8)
        try await PushSuite.run(["OPERATOR_KEY_FILE": keys.path]) { suite in
            let endpoints: JSON = [
                "lifecycle": .string("http://127.0.0.1:\(suite.lifecycle)"),
                "push": .string("http://127.0.0.1:\(suite.push)"), "operatorKey": .string(Self.key),
            ]
            let file = folder.appending(path: "endpoints.json")
            try Data(endpoints.bytes).write(to: file)
            let program = Repository.file("deploy/examples/\(example)")
            let device = try ChildProcess.start(
                python ?? "",
                ["-B", "-u", program.path, "--endpoints", file.path, "--app", PushSuite.app] + arguments)
            let told = try await device.waitForLine(containing: "device token", within: 60)
            try await body(suite, device, try #require(told.split(separator: " ").last.map(String.init)))
            device.signal(SIGINT)
            #expect(try await device.exit(within: 60) == .exited(0), "\(device.errors.tail())")
        }
    }

    @Test func `an example device holds its push connection and is woken`() async throws {
        try await withExample("device.py", ["--work", "0.1"]) { suite, device, token in
            try await device.waitForLine(containing: "the user: home", within: 60)
            let alert = try await suite.notify(token, ["aps": ["alert": "Hello"]])
            let shown = try #require(alert.headers["apns-unique-id"])
            try await device.waitForLine(containing: "acknowledged notification \(shown)", within: 60)
            let silent = try await suite.notify(
                token, ["aps": ["content-available": 1]], ["apns-push-type": "background", "apns-priority": "5"])
            let woke = try #require(silent.headers["apns-unique-id"])
            try await device.waitForLine(containing: "completed the wake for push \(woke)", within: 60)
            let statuses = try await suite.send("GET", "/v1/notifications/\(shown)").json["statuses"]?.items ?? []
            #expect(statuses.contains { $0["status"] == "Delivered" })
        }
    }

    @Test func `the example of a service extension decodes an alert`() async throws {
        try await withExample("service_extension.py") { suite, device, token in
            let payload: JSON = [
                "aps": ["alert": "A new message", "mutable-content": 1], "secret": "TWVldCBtZSBhdCA5",
            ]
            let sent = try await suite.notify(token, payload)
            try await device.waitForLine(containing: "content is changed", within: 60)
            let id = try #require(sent.headers["apns-unique-id"])
            let statuses = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            #expect(statuses.contains { $0["content"]?["body"] == "Meet me at 9" })
        }
    }
}
