import Contracts
import EventLog
import Foundation
import Glibc
import Identity
import Logging
import Postgres
import Records
import TestSupport
import Testing

@testable import LifecycleService

/// The example device with the real `lifecycle` as a process.
@Suite(
    "The example device", .tags(.database, .processes), .timeLimit(.minutes(3)),
    .enabled(if: ExampleFixture.python != nil, "python3 is missing"))
struct ExampleDeviceTests {
    @Test func `the example device follows its orders across a restart`() async throws {
        let fixture = try await ExampleFixture.make()
        var service = try await fixture.serve()
        let device = try fixture.device(["--url", fixture.url, "--key", ExampleFixture.key, "--work", "0.1"])
        // Background tasks have a limit of 6 s here, so the expiration handler is called after 1 s.
        try await device.waitForLine(containing: "ended background task", within: 60)
        try await device.waitForLine(containing: "suspended", within: 60)
        for (place, request) in ["n-1", "n-2"].enumerated() {
            if place > 0 {
                service.signal(SIGKILL)
                try await service.exit()
                service = try await fixture.serve()
            }
            try await fixture.push(request)
            try await device.waitForLine(containing: "completed the wake for push \(request)", within: 60)
        }
        device.signal(SIGINT)
        #expect(try await device.exit(within: 60) == .exited(0), "\(device.errors.tail())")
        service.signal(SIGTERM)
        #expect(try await service.exit(within: 60) == .exited(0), "\(service.errors.tail())")

        let log = try await fixture.log()
        let run = ["lifecycle.app.woken", "lifecycle.wake.completed", "lifecycle.app.suspended"]
        let story =
            [
                "lifecycle.device.registered", "lifecycle.app.installed", "lifecycle.app.launched",
                "lifecycle.callback.completed", "lifecycle.app.activated",
                "lifecycle.notificationAuthorization.decided", "lifecycle.settings.changed", "lifecycle.task.begun",
                "lifecycle.app.backgrounded", "lifecycle.callback.completed", "lifecycle.task.expiring",
                "lifecycle.task.ended", "lifecycle.app.suspended",
            ] + run + run
        #expect(log.map(\.type).filter { $0.hasPrefix("lifecycle.") && $0 != "lifecycle.outage.recorded" } == story)
        let completions = try log.filter { $0.type == "lifecycle.wake.completed" }.map { try JSON(parsing: $0.data) }
        #expect(completions.map { $0["request"] } == ["n-1", "n-2"])
        #expect(completions.allSatisfy { $0["result"] == "newData" })
        await fixture.pool.close()
    }

    @Test func `the example device reports an error on one line`() async throws {
        let fixture = try await ExampleFixture.make()
        let service = try await fixture.serve()
        let nobody = try freePort()
        let faults: [(arguments: [String], words: String)] = [
            (["--url", fixture.url, "--key", "another"], "the key is not valid"),
            (["--url", "http://127.0.0.1:\(nobody)", "--key", ExampleFixture.key], "Connection refused"),
            (["--endpoints", "nowhere.json"], "cannot read nowhere.json"),
        ]
        for fault in faults {
            let device = try fixture.device(fault.arguments)
            #expect(try await device.exit(within: 60) == .exited(1), "\(fault)")
            #expect(device.errors.lines.count == 1 && device.errors.tail().contains(fault.words), "\(fault)")
        }
        service.signal(SIGTERM)
        #expect(try await service.exit(within: 60) == .exited(0), "\(service.errors.tail())")
        await fixture.pool.close()
    }
}

/// A database, a `lifecycle` process that can be restarted, and the example.
private struct ExampleFixture {
    static let key = "correct-horse"
    static let name = "example-phone"
    static let partitions = 16
    static let python = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    let database: String
    let port: Int
    let pool: ConnectionPool
    let folder: URL

    var url: String { "http://127.0.0.1:\(port)" }

    static func make() async throws -> ExampleFixture {
        let database = try await PrivateCluster.shared().makeDatabase()
        try await ChildProcess.migrate("lifecycle", database)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("example-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = [
            "keys": OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: key),
            "profiles.json": #"{"ios15":{"limits":{"backgroundTasks":6}}}"#,
        ]
        for (name, text) in files {
            try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let pool = ConnectionPool(try ConnectionOptions(url: database), size: 1, logger: logger)
        return ExampleFixture(database: database, port: try freePort(), pool: pool, folder: folder)
    }

    func serve() async throws -> ChildProcess {
        try await ChildProcess.serve(
            "lifecycle", database, port: port,
            [
                "--operator-key-file", folder.appendingPathComponent("keys").path, "--profiles-file",
                folder.appendingPathComponent("profiles.json").path,
            ]
        ).process
    }

    func device(_ arguments: [String]) throws -> ChildProcess {
        let example = Repository.file("deploy/examples/device.py")
        return try ChildProcess.start(Self.python ?? "", [example.path, "--device", Self.name] + arguments)
    }

    /// Requests a wake, as `push` does for a silent notification.
    func push(_ notification: String) async throws {
        try await pool.append(
            ForeignEvent(
                PushEvent.WakeRequested(
                    app: "mail", notification: notification, payload: ["aps": ["content-available": 1]]),
                to: Self.name), partitions: Self.partitions)
    }

    /// Returns all events of the device.
    func log() async throws -> [Event] {
        let key = AggregateKey.device(Self.name)
        let place = Parameter.int4(Int32(key.partition(of: Self.partitions)))
        let rows = try await pool.execute(
            Query(LogReader.ofKey, [place, .text(key.description), .int(0), .int(100_000)]))
        return try rows.map { try LogReader.event($0) }
    }
}
