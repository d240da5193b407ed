import Foundation
import Glibc
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `deploy/snapshot`: a suite returns to a saved state.
@Suite("deploy/snapshot", .tags(.database, .processes), .timeLimit(.minutes(10))) struct SuiteSnapshotTests {
    @Test func `a restored suite is as it was, as often as one likes`() async throws {
        try await Installation.using { installation in
            let up = try installation.up(["--detach", "--no-fleet", "--virtual-time"])
            #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            try await put(installation, "/v1/devices/before", ["profile": "ios26"])
            try await write(installation, "before")
            let saved = try await freeze(installation)
            try await snapshot(installation, "save", "first", says: "the snapshot first is saved")
            #expect(try await now(installation) == saved)

            var other: ChildProcess?
            defer { other?.signal(SIGTERM) }
            for round in 1...2 {
                if round == 2 { other = try await takeDatabasePort(installation) }
                let later = try await put(installation, "/v1/devices/later", ["profile": "ios15"])
                try await write(installation, "later")
                let advance = try await installation.call(.POST, .ops, "/v1/clock/advance", ["seconds": 3600])
                #expect(advance.status == 200)
                try await snapshot(installation, "restore", "first", says: "the suite is as in the snapshot first")
                #expect(try await now(installation) == saved, "round \(round)")
                let devices = try await installation.call(.GET, .lifecycle, "/v1/devices/before")
                #expect(devices.status == 200)
                #expect(try await installation.call(.GET, .lifecycle, "/v1/devices/later").status == 404)
                #expect(try await installation.call(.GET, .transfer, "/content/before").status == 200)
                #expect(try await installation.call(.GET, .transfer, "/content/later").status == 404)
                let stale = try await installation.call(
                    .GET, .lifecycle, "/v1/devices/before", headers: ["Dormouse-Position": later])
                #expect(stale.status == 410 && stale.json["code"] == "earlier_incarnation")
                let checks = try await installation.call(.GET, .transfer, "/readyz").json["checks"]
                #expect(checks?["data_directory"] == "ok", "the files are accepted")
            }
            let endpoints = try String(
                contentsOf: installation.folder.appendingPathComponent("endpoints.json"), encoding: .utf8)
            #expect(endpoints.contains("@127.0.0.1:\(try databasePort(installation))/"))
            try await faults(installation)
            try await snapshot(installation, "remove", "first", says: "the snapshot first is removed")
            #expect(try await run(installation, ["list"]) == (.exited(0), "", ""))
            try await failure(installation)
        }
    }

    private func databasePort(_ installation: Installation) throws -> String {
        try String(contentsOf: installation.folder.appendingPathComponent("run/database.port"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Lets another program take the port of the database. At its next start, the database needs another one.
    private func takeDatabasePort(_ installation: Installation) async throws -> ChildProcess {
        let script = """
            import signal, socket, sys
            server = socket.create_server(("127.0.0.2", int(sys.argv[1])))
            print("listens", flush=True)
            signal.pause()
            """
        let port = try databasePort(installation)
        let process = try ChildProcess.start("/usr/bin/env", ["python3", "-c", script, port])
        try await eventually(describe: "another program has port \(port)") { process.output.tail() == "listens" }
        return process
    }

    @Test func `the next start finishes a killed restore, with another incarnation of the log`() async throws {
        try await Installation.using { installation in
            try await start(installation)
            try await installation.load("before")
            try await snapshot(installation, "save", "first", says: "the snapshot first is saved")
            let commands = [
                // Before the exchange, nothing has changed.
                "^cp -a .*/content\\.new$",
                // Before the second and the fourth exchange, and the removal of the former data.
                "mv .*/data\\.new ", "mv .*/content\\.new ", "rm -rf .*/data\\.old$",
                // When the database runs.
                "setsid -w ",
            ]
            let place = try await installation.load("later")
            for (number, command) in commands.enumerated() {
                let killed = try await installation.interrupt("snapshot", ["restore", "first"], before: command)
                #expect(killed == .signalled(SIGKILL), "\(command)")
                try await start(installation)
                try await installation.expect(place, of: "later", isGone: number > 0)
                try await expectFinished(installation, command)
            }
            // A signal ends the restore when it has restored everything.
            let ended = try await installation.interrupt(
                "snapshot", ["restore", "first"], before: "setsid -w ", with: "TERM")
            #expect(ended == .exited(130))
            for service in SuiteService.allCases {
                try await eventually(within: 60, describe: "\(service) runs again") {
                    (try? await installation.call(.GET, service, "/readyz").status) == 200
                }
            }
            try await installation.expect(place, of: "later", isGone: true)
            try await expectFinished(installation, "signal")
            try await killedEarlierVersion(installation)
        }
    }

    @Test(arguments: [
        ([], "unknown action ''"), (["list", "x"], "list takes no name"), (["save"], "give save and one name"),
        (["save", "../x"], "'../x' is no name of a snapshot"), (["keep", "x"], "unknown action 'keep'"),
        (["--all"], "unknown option '--all'"), (["--data"], "--data needs a folder"),
    ])
    func `a wrong command line gets one line and status 2`(words: [String], message: String) async throws {
        let process = try ChildProcess.start(Repository.file("deploy/snapshot").path, words)
        #expect(try await process.exit(within: 30) == .exited(2))
        #expect(process.errors.lines.count == 1)
        #expect(process.errors.tail().contains(message), "\(process.errors.tail())")
    }

    /// What can't be done is refused in one line, and the suite goes on.
    private func faults(_ installation: Installation) async throws {
        try await snapshot(installation, "save", "first", fails: "there is a snapshot first already")
        try await snapshot(installation, "restore", "second", fails: "there is no snapshot second")
        try await snapshot(installation, "remove", "second", fails: "there is no snapshot second")
        try await snapshot(installation, "list", says: "first")
        let manifest = installation.folder.appendingPathComponent("snapshots/first/manifest")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        try Data("version 0.0.1\ntime 2026-01-01T00:00:00Z\n".utf8).write(to: manifest)
        try await snapshot(installation, "restore", "first", fails: "the snapshot is of version 0.0.1")
        try Data(text.utf8).write(to: manifest)
        #expect(try await installation.call(.GET, .lifecycle, "/readyz").status == 200)
    }

    /// A snapshot that can't be written does not leave the suite stopped.
    private func failure(_ installation: Installation) async throws {
        let folder = installation.folder.appendingPathComponent("snapshots")
        try FileManager.default.removeItem(at: folder)
        try Data().write(to: folder)
        try await snapshot(installation, "save", "third", fails: "cannot create")
        for service in [SuiteService.lifecycle, .fetch, .push, .transfer, .ops] {
            try await eventually(within: 60, describe: "\(service) runs again") {
                (try? await installation.call(.GET, service, "/readyz").status) == 200
            }
        }
        let down = try installation.down()
        #expect(try await down.exit(within: 60) == .exited(0))
        try await snapshot(installation, "save", "third", fails: "no suite with its own database runs")
    }

    /// A script of an earlier version has begun the exchange without a mark.
    private func killedEarlierVersion(_ installation: Installation) async throws {
        let place = try await installation.load("latest")
        #expect(try await installation.down().exit(within: 60) == .exited(0))
        let script = "cd \"$0\"; cp -a data data.old; cd \"$1\"; cp -a content content.new; touch run/paused"
        let change = try ChildProcess.start(
            "/bin/bash", ["-euc", script, installation.database.path, installation.folder.path])
        #expect(try await change.exit(within: 60) == .exited(0), "\(change.errors.tail())")
        try await start(installation)
        let stale = try await installation.call(
            .GET, .lifecycle, "/v1/devices/before", headers: ["Dormouse-Position": place.position])
        #expect(stale.status == 410)
        try await expectFinished(installation, script)
    }

    /// Expects no copies and no marks of a restore, and accepted files.
    private func expectFinished(_ installation: Installation, _ command: String) async throws {
        let folders = [installation.folder, installation.database]
        let names = try folders.flatMap { try FileManager.default.contentsOfDirectory(atPath: $0.path) }
        let left = names.filter { $0.hasSuffix(".new") || $0.hasSuffix(".old") || $0.hasPrefix("unfinished") }
        #expect(left.isEmpty, "\(command)")
        let paused = installation.folder.appendingPathComponent("run/paused").path
        #expect(!FileManager.default.fileExists(atPath: paused), "\(command)")
        try await eventually(within: 60, describe: "the files are accepted after \(command)") {
            let checks = try await installation.call(.GET, .transfer, "/readyz").json["checks"]
            return checks?["data_directory"]?.string == "ok"
        }
    }

    private func start(_ installation: Installation) async throws {
        let up = try installation.up(["--detach", "--no-fleet"])
        #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
    }

    private func snapshot(_ installation: Installation, _ words: String..., says text: String) async throws {
        let (status, output, errors) = try await run(installation, words)
        #expect(status == .exited(0) && output.contains(text), "\(words): \(output) \(errors)")
    }

    private func snapshot(_ installation: Installation, _ words: String..., fails text: String) async throws {
        let (status, output, errors) = try await run(installation, words)
        #expect(status == .exited(1) && errors.contains(text), "\(words): \(output) \(errors)")
    }

    private func run(
        _ installation: Installation, _ words: [String]
    ) async throws -> (status: TestSupport.ExitStatus, output: String, errors: String) {
        let process = try ChildProcess.start(
            Repository.file("deploy/snapshot").path, ["--data", installation.folder.path] + words,
            environment: installation.environment)
        let status = try await process.exit(within: 180)
        return (status, process.output.tail(100), process.errors.tail(100))
    }

    /// Sends a document to `lifecycle`, and returns the position of the write.
    @discardableResult
    private func put(_ installation: Installation, _ path: String, _ document: JSON) async throws -> String {
        let answer = try await installation.call(.PUT, .lifecycle, path, document)
        #expect((200...201).contains(answer.status), "\(answer.json)")
        return answer.headers.first(name: "Dormouse-Position") ?? ""
    }

    private func write(_ installation: Installation, _ name: String) async throws {
        #expect(try await installation.call(.PUT, .transfer, "/content/\(name)", ["name": .string(name)]).status < 300)
    }

    private func freeze(_ installation: Installation) async throws -> String {
        #expect(try await installation.call(.PUT, .ops, "/v1/clock", ["frozen": true]).status == 200)
        return try await now(installation)
    }

    private func now(_ installation: Installation) async throws -> String {
        try #require(try await installation.call(.GET, .ops, "/v1/clock").json["now"]?.string)
    }
}
