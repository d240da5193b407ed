import Foundation
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Faults of services and uploads in `fleet run --scenario`.
@Suite("A scenario with killed services", .tags(.database, .processes), .timeLimit(.minutes(10)))
struct ScenarioFaultTests {
    static let kills = """
        {
          "name": "killed services", "for": "2h", "devices": {"count": 4},
          "people": [{"habits": {"opens": ["00:10±5m"], "stay": "1m"}}],
          "apps": [{"id": "com.example.chat", "backgroundModes": ["remote-notification"]}],
          "provider": [{"at": "00:20", "every": "10m", "until": "01:50", "send": "alert"}],
          "faults": [{"at": "00:40", "kill": "push", "for": "30s"}, {"at": "01:00", "kill": "lifecycle", "for": "1m"}],
          "expect": [{"what": "alerts shown", "of": "sent", "atLeast": "100%"}]
        }
        """

    @Test func `the alerts of killed services arrive`() async throws {
        try await Installation.using { installation in
            let up = try installation.up(["--detach", "--no-fleet", "--virtual-time"])
            #expect(try await up.exit(within: 300) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            let before = try processes(of: installation)
            let run = try fleet(
                Self.kills, in: installation,
                [
                    "--kill-command",
                    "'\(Repository.file("deploy/fault").path)' --data '\(installation.folder.path)'",
                ])
            let status = try await run.exit(within: 240)
            #expect(status == .exited(0), "\(run.output.tail(40)) \(run.errors.tail(20))")
            #expect(!run.output.tail(200).contains("has no effect"))
            let after = try processes(of: installation)
            #expect(before["push"] != after["push"] && before["lifecycle"] != after["lifecycle"])
            #expect(before["transfer"] == after["transfer"])
        }
    }

    @Test func `a failing command ends the run with its words, and the clock runs again`() async throws {
        try await Installation.using { installation in
            let up = try installation.up(["--detach", "--no-fleet", "--virtual-time"])
            #expect(try await up.exit(within: 300) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            let run = try fleet(Self.kills, in: installation, ["--kill-command", "echo no rights for; exit 3; echo"])
            #expect(try await run.exit(within: 240) == .exited(1))
            let words = run.output.tail(200)
            for part in ["It failed: ", "kill push ended with status 3: no rights for"] {
                #expect(words.contains(part), "\(words)")
            }
            #expect(try await installation.call(.GET, .ops, "/v1/clock").json["frozen"] == false)
        }
    }

    @Test func `a scenario that kills a service needs a command`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kill-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("scenario.json")
        try Data(Self.kills.utf8).write(to: file)
        let address = "http://127.0.0.1:9"
        let run = try ChildProcess.start(
            ChildProcess.product("fleet"),
            [
                "run", "--scenario", file.path, "--lifecycle", address, "--push", address, "--ops", address, "--apns",
                address,
            ])
        #expect(try await run.exit(within: 60) != .exited(0))
        #expect(run.errors.tail(200).contains("the scenario kills push"), "\(run.errors.tail(200))")
        #expect(run.errors.tail(200).contains("--kill-command './deploy/fault --data DIR'"), "\(run.errors.tail(200))")
    }

    private func fleet(_ text: String, in installation: Installation, _ options: [String]) throws -> ChildProcess {
        let file = installation.folder.appendingPathComponent("scenario.json")
        try Data(text.utf8).write(to: file)
        let endpoints = installation.folder.appendingPathComponent("endpoints.json").path
        return try ChildProcess.start(
            ChildProcess.product("fleet"), ["run", "--scenario", file.path, "--endpoints", endpoints] + options)
    }

    /// Returns the records of the running processes, by their names.
    private func processes(of installation: Installation) throws -> [String: String] {
        let folder = installation.folder.appendingPathComponent("run")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "pid" }
        return Dictionary(
            uniqueKeysWithValues: try files.map {
                ($0.deletingPathExtension().lastPathComponent, try String(contentsOf: $0, encoding: .utf8))
            })
    }
}
