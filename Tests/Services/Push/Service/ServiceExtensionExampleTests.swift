import Foundation
import Identity
import Records
import TestSupport
import Testing

private let python = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
    .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// `deploy/examples/service_extension.py` with real services.
@Suite(
    "The example of a service extension", .tags(.database, .processes), .timeLimit(.minutes(4)),
    .enabled(if: python != nil, "python3 is missing"))
struct ServiceExtensionExampleTests {
    private static let key = "correct-horse"

    @Test func `the example device decodes an alert`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "extension-\(UUID().uuidString)")
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
            let example = Repository.file("deploy/examples/service_extension.py")
            let device = try ChildProcess.start(
                python ?? "", ["-B", "-u", example.path, "--endpoints", file.path, "--app", PushSuite.app])
            let told = try await device.waitForLine(containing: "device token", within: 60)
            let token = try #require(told.split(separator: " ").last.map(String.init))
            let payload: JSON = [
                "aps": ["alert": "A new message", "mutable-content": 1], "secret": "TWVldCBtZSBhdCA5",
            ]
            let sent = try await suite.notify(token, payload)
            try await device.waitForLine(containing: "content is changed", within: 60)
            let id = try #require(sent.headers["apns-unique-id"])
            let statuses = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            #expect(statuses.contains { $0["content"]?["body"] == "Meet me at 9" })
            device.signal(SIGINT)
            #expect(try await device.exit(within: 60) == .exited(0), "\(device.errors.tail())")
        }
    }
}
