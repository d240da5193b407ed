import Foundation
import Glibc
import Logging
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Testing

/// `deploy/backup` and `deploy/restore`: a drill.
@Suite("deploy/backup and deploy/restore", .tags(.database, .processes), .timeLimit(.minutes(10))) struct BackupTests {
    /// The places that clients have from after the backup.
    private struct Places {
        var position = ""
        var order = ""
        var cursor = ""
        /// The `ETag` of the device.
        var tag = ""
    }

    @Test func `a restored suite has what the backup has, and refuses what came later`() async throws {
        try await Installation.using { installation in
            try await start(installation)
            try await load(installation, "phone-1", "film")
            let backup = installation.folder.appendingPathComponent("backups/first")
            let (made, written) = try await writing(installation) {
                try await installation.run("backup", [backup.path])
            }
            #expect(made.status == .exited(0), "\(made.output)")
            let places = try await load(installation, "phone-2", "later")

            try await expectRefusals(installation, backup)
            let restored = try await installation.run("restore", ["--replace", backup.path])
            #expect(restored.status == .exited(0), "\(restored.output)")
            #expect(restored.output.contains("1. start the suite"))
            let kept = try FileManager.default.contentsOfDirectory(atPath: installation.folder.path)
            #expect(kept.contains { $0.hasPrefix("content.before-restore-") }, "nothing is deleted")
            let unreferenced = try makeOldFile(installation)

            try await start(installation)
            try await expectBackup(installation)
            try await expectWhole(installation, written)
            try await expectGone(installation, places)
            try await sweep(installation, unreferenced)
            try await beginIncarnation(installation)
        }
    }

    @Test func `a suite with an archive is restored to a moment after its backup`() async throws {
        try await Installation.using { installation in
            try await start(installation, "--archive")
            try await load(installation, "phone-1", "film")
            let backup = installation.folder.appendingPathComponent("backups/first")
            let early = Self.text(of: Date() - 2)
            let made = try await installation.run("backup", [backup.path])
            #expect(made.status == .exited(0), "\(made.output)")
            // Enough of the log that its replay takes longer than the start of the server.
            _ = try await query(
                installation, "CREATE TABLE large AS SELECT repeat(n::text, 99) FROM generate_series(1, 60000) AS n")
            try await load(installation, "phone-2", "later")
            let moment = try await query(installation, "SELECT clock_timestamp()::text")
            let places = try await load(installation, "phone-3", "last")
            #expect(try await installation.call(.DELETE, .transfer, "/content/later").status == 204)
            let last = try await query(installation, "SELECT clock_timestamp()::text")
            try await load(installation, "phone-4", "end")
            // A killed server has not archived its last segment.
            try await kill(installation, "database")
            #expect(try await installation.down().exit(within: 180) == .exited(0))

            func restore(to moment: String, _ more: String...) async throws -> (
                status: TestSupport.ExitStatus, output: String
            ) { try await installation.run("restore", ["--replace", "--to=" + moment] + more + [backup.path]) }
            let elsewhere = installation.folder.appendingPathComponent("backups")
            let state = try StoppedState(installation)
            for (wrong, message) in [
                (early, "give an earlier backup"), (Self.text(of: Date() + 3600), "is in the future"),
                (Self.text(of: Date()), "the archive ends before"),
            ] {
                let refused = try await restore(to: wrong)
                #expect(refused.status == .exited(1) && refused.output.contains(message), "\(refused.output)")
                #expect(try StoppedState(installation) == state, "\(message)")
            }
            let restored = try await restore(to: moment, "--archive", elsewhere.path)
            #expect(restored.status == .exited(0), "\(restored.output)")

            // The archive goes on without the option.
            try await start(installation)
            try await expect(installation, devices: ["phone-1", "phone-2"], missing: ["phone-3", "phone-4"])
            #expect(try await installation.call(.GET, .transfer, "/content/last").status == 404)
            try await eventually(within: 60, describe: "the deleted file is back from the trash") {
                try await installation.call(.GET, .transfer, "/content/later").status == 200
            }
            let gone = try await installation.call(
                .GET, .lifecycle, "/v1/devices/phone-1", headers: ["Dormouse-Position": places.position])
            #expect(gone.status == 410)
            #expect(try await query(installation, "SHOW archive_mode") == "on")
            try await refuseSnapshot(installation)
            try await load(installation, "phone-5", "another")
            let newest = try await query(installation, "SELECT clock_timestamp()::text")
            try await load(installation, "phone-6", "after")

            // Each moment is in the timeline of its time: the second one in that of the first restore.
            // Two restores without a start between them, the first one to the newest moment.
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            #expect(try await restore(to: newest).status == .exited(0))
            let timelines = [
                (last, ["phone-3"], ["phone-4", "phone-5"]), (newest, ["phone-2", "phone-5"], ["phone-3", "phone-6"]),
            ]
            for (moment, devices, missing) in timelines {
                let restored = try await restore(to: moment)
                #expect(restored.status == .exited(0), "\(restored.output)")
                try await start(installation)
                try await expect(installation, devices: devices, missing: missing)
                #expect(try await installation.down().exit(within: 180) == .exited(0))
                #expect(try unarchived(installation).isEmpty)
            }
        }
    }

    private func expect(_ installation: Installation, devices: [String], missing: [String]) async throws {
        for device in devices + missing {
            let status = try await installation.call(.GET, .lifecycle, "/v1/devices/\(device)").status
            #expect(status == (missing.contains(device) ? 404 : 200), "\(device)")
        }
    }

    private func kill(_ installation: Installation, _ process: String) async throws {
        let record = try String(
            contentsOf: installation.folder.appendingPathComponent("run/\(process).pid"), encoding: .utf8)
        let pid = try #require(record.split(separator: " ").first.flatMap { pid_t($0) })
        #expect(Glibc.kill(pid, SIGKILL) == 0)
    }

    /// Returns the segments that a stopped server could not archive.
    private func unarchived(_ installation: Installation) throws -> [String] {
        let status = installation.database.appendingPathComponent("data/pg_wal/archive_status")
        return try FileManager.default.contentsOfDirectory(atPath: status.path).filter { $0.hasSuffix(".ready") }
    }

    static func text(of moment: Date) -> String {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(moment)
    }

    private func start(_ installation: Installation, _ more: String...) async throws {
        let up = try installation.up(["--detach", "--no-fleet"] + more)
        #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
    }

    /// Registers a device and stores a file.
    @discardableResult private func load(
        _ installation: Installation, _ device: String, _ file: String
    ) async throws -> Places {
        let registered = try await installation.call(.PUT, .lifecycle, "/v1/devices/\(device)", ["profile": "ios18"])
        #expect(registered.status == 201)
        #expect(try await installation.call(.PUT, .transfer, "/content/\(file)", ["title": "x"]).status == 201)
        let orders = try await installation.call(.GET, .lifecycle, "/v1/devices/\(device)/orders?wait=0")
        let page = try await installation.call(.GET, .ops, "/v1/events?limit=1")
        let state = try await installation.call(.GET, .lifecycle, "/v1/devices/\(device)")
        return Places(
            position: registered.position ?? "", order: orders.json["next"]?.string ?? "",
            cursor: page.json["next"]?.string ?? "", tag: state.headers["etag"].first ?? "")
    }

    private func expectBackup(_ installation: Installation) async throws {
        #expect(try await installation.call(.GET, .lifecycle, "/v1/devices/phone-1").status == 200)
        #expect(try await installation.call(.GET, .lifecycle, "/v1/devices/phone-2").status == 404)
        #expect(try await installation.call(.GET, .transfer, "/content/film").status == 200)
        #expect(try await installation.call(.GET, .transfer, "/content/later").status == 404)
        let events = try await installation.call(.GET, .ops, "/v1/devices/phone-1/timeline")
        #expect(events.json["items"]?.items?.isEmpty == false)
    }

    /// Places from before the restore get 410. New ones name the incarnation, and work.
    private func expectGone(_ installation: Installation, _ old: Places) async throws {
        func status(_ places: Places, is status: Int) async throws {
            let path = "/v1/devices/phone-1"
            let answers = [
                try await installation.call(.GET, .lifecycle, path, headers: ["Dormouse-Position": places.position]),
                try await installation.call(.GET, .lifecycle, path + "/orders?wait=0&after=\(places.order)"),
                try await installation.call(
                    .GET, .lifecycle, path + "/orders?wait=0", headers: ["Last-Event-ID": places.order]),
                try await installation.call(.GET, .ops, "/v1/events?cursor=\(places.cursor)"),
                try await installation.call(.GET, .ops, "/v1/events/\(places.position)"),
                try await installation.call(
                    .GET, .ops, path + "/state?service=lifecycle&at=\(places.order)"),
            ]
            for answer in answers {
                #expect(answer.status == status, "\(answer.json)")
                if status == 410 { #expect(answer.json["code"]?.string == "earlier_incarnation") }
            }
        }
        try await status(old, is: 410)
        let places = try await load(installation, "phone-1b", "another")
        #expect(places.position.wholeMatch(of: /[0-9a-f]{12}\.[0-9]+:[0-9]+/) != nil, "\(places.position)")
        try await expectTag(places.tag, installation)
        try await expectPages(installation)
        // The stream of a device has only positions of its partition.
        let own = try await installation.call(.GET, .lifecycle, "/v1/devices/phone-1/orders?wait=0")
        try await status(
            Places(position: places.position, order: own.json["next"]?.string ?? "", cursor: places.cursor), is: 200)
    }

    /// Another state of the device may have the same number of events, so a tag names the incarnation.
    private func expectTag(_ tag: String, _ installation: Installation) async throws {
        let match = try #require(tag.wholeMatch(of: /"[0-9a-f]{12}\.([0-9]+)"/), "\(tag)")
        let app = "/v1/devices/phone-1b/apps/tagged"
        for (tag, status) in [("\"\(match.1)\"", 412), (tag, 201)] {
            let answer = try await installation.call(.PUT, .lifecycle, app, [:], headers: ["If-Match": tag])
            #expect(answer.status == status, "\(tag): \(answer.json)")
        }
    }

    /// The pages of an app's history name the incarnation too.
    private func expectPages(_ installation: Installation) async throws {
        let app = "/v1/devices/phone-1b/apps/news"
        #expect(try await installation.call(.PUT, .lifecycle, app, [:]).status == 201)
        for event in ["launch", "crash", "launch", "crash"] {
            let moved = try await installation.call(
                .POST, .lifecycle, app + "/transitions", ["event": .string(event)])
            #expect(moved.status == 200, "\(event): \(moved.json)")
        }
        let list = app + "/terminations?limit=1"
        let page = try await installation.call(.GET, .lifecycle, list)
        let next = try #require(page.json["next"]?.string)
        #expect(next.wholeMatch(of: /[0-9a-f]{12}\.[0-9]+/) != nil, "\(next)")
        for (cursor, status) in [(next, 200), (String(next.dropFirst(13)), 410)] {
            #expect(try await installation.call(.GET, .lifecycle, list + "&cursor=\(cursor)").status == status)
        }
    }

    /// Makes a file that the sweep would move to the trash.
    private func makeOldFile(_ installation: Installation) throws -> String {
        let name = UUID().uuidString.lowercased()
        let url = installation.folder.appendingPathComponent("content/contents/\(name)")
        try Data("x".utf8).write(to: url)
        try FileManager.default.setAttributes([.modificationDate: Date() - 7200], ofItemAtPath: url.path)
        return name
    }

    /// No file of the restored content is moved until an operator accepts it.
    private func sweep(_ installation: Installation, _ file: String) async throws {
        let content = installation.folder.appendingPathComponent("content")
        @Sendable func exists(_ path: String) -> Bool {
            FileManager.default.fileExists(atPath: content.appendingPathComponent("\(path)/\(file)").path)
        }
        try await eventually(within: 60, describe: "the sweep is refused") {
            let ready = try await installation.call(.GET, .transfer, "/readyz")
            return ready.status == 200 && ready.json["checks"]?["data_directory"]?.string == "failing"
        }
        #expect(exists("contents"))
        let accepted = try await installation.run("restore", ["--accept"])
        #expect(accepted.status == .exited(0), "\(accepted.output)")
        // The next check is at a start, or within a minute.
        for action in ["kill", "start"] {
            let fault = try ChildProcess.start(
                Repository.file("deploy/fault").path, ["--data", installation.folder.path, action, "transfer"],
                environment: installation.environment)
            #expect(try await fault.exit(within: 90) == .exited(0), "\(fault.errors.tail())")
        }
        try await eventually(within: 60, describe: "the file is in the trash") { exists("trash/contents") }
        #expect(!exists("contents"))
        #expect(try await audited(installation, "directory.accepted") == "transfer|directory|commandLine")
    }

    /// A running service ends when another incarnation begins, because its memory may have lost events.
    private func beginIncarnation(_ installation: Installation) async throws {
        let database = try database(of: installation)
        let begin = try ChildProcess.start(
            ChildProcess.product("ops"), ["begin-incarnation"], environment: ["MIGRATION_DATABASE_URL": database])
        #expect(try await begin.exit(within: 30) == .exited(0), "\(begin.errors.tail())")
        try await eventually(within: 60, describe: "all services end") {
            !installation.running.contains { $0.hasSuffix(" serve ") || $0.hasSuffix(" serve") }
        }
        let log = installation.folder.appendingPathComponent("log/lifecycle.log")
        #expect(try String(contentsOf: log, encoding: .utf8).contains("lifecycle: the log was restored"))
        #expect(try await audited(installation, "incarnation.begun") == "ops|log|commandLine")
    }

    /// Returns the service, the subject and the kind of the actor of an action's newest row.
    private func audited(_ installation: Installation, _ action: String) async throws -> String {
        try await query(
            installation,
            """
            SELECT concat_ws('|', service, subject, actor_kind) FROM bus.audit WHERE action = '\(action)'
            ORDER BY at DESC LIMIT 1
            """)
    }

    /// Returns the text that a query of the owner finds; "none" without a row.
    private func query(_ installation: Installation, _ sql: String) async throws -> String {
        let options = try ConnectionOptions(url: try database(of: installation))
        let connection = try await Connection.open(options, logger: Logger(label: "test"))
        let found = try await connection.execute(Statement(sql)).decode(String.self).first
        await connection.close()
        return found ?? "none"
    }

    private func database(of installation: Installation) throws -> String {
        let file = installation.folder.appendingPathComponent("endpoints.json")
        return try JSON(parsing: Array(try Data(contentsOf: file)))["database"]?.string ?? ""
    }
}
