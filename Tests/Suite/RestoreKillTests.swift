import Foundation
import Glibc
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `deploy/restore` is killed, or gets a signal.
@Suite("A killed deploy/restore", .tags(.database, .processes), .timeLimit(.minutes(10))) struct RestoreKillTests {
    @Test func `the next start finishes the exchange of a killed restore`() async throws {
        try await Installation.using { installation in
            try await start(installation)
            try await installation.load("before")
            let backup = installation.folder.appendingPathComponent("backups/first").path
            let made = try await installation.run("backup", [backup])
            #expect(made.status == .exited(0), "\(made.output)")
            let restore = ["--binaries", ChildProcess.product(""), "--replace", backup]
            let commands = [
                // Before the exchange, nothing has changed.
                "^cp -a .*/content\\.restored$",
                // Before steps of the exchange.
                "^mv -T .*/restoring/data ", "^mv -T .*/content\\.restored ", "^rm -f .*/unfinished-restore$",
            ]
            let place = try await installation.load("later")
            for (number, command) in commands.enumerated() {
                #expect(try await installation.down().exit(within: 180) == .exited(0))
                let killed = try await installation.interrupt("restore", restore, before: command)
                #expect(killed == .signalled(SIGKILL), "\(command)")
                try await start(installation)
                let isRestored = number > 0
                try await installation.expect(place, of: "later", isGone: isRestored)
                let names = try FileManager.default.contentsOfDirectory(atPath: installation.folder.path)
                #expect(!names.contains { $0.hasPrefix("unfinished-restore") }, "\(command): \(names)")
                let former = names.filter { $0.hasPrefix("content.before-restore") }
                #expect(former.count == number, "nothing is deleted: \(names)")
            }
            // The next restore finishes it, too. A signal during the exchange is too late.
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            _ = try await installation.interrupt("restore", restore, before: "^mv -T .*/content\\.before-restore")
            let second = try await installation.interrupt(
                "restore", restore, before: "^mv -T .*/data\\.before-restore", with: "TERM")
            #expect(second == .exited(0))
            try await start(installation)
            try await installation.expect(place, of: "later", isGone: true)

            // The archive of another database is exchanged, too.
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            let database = installation.folder.appendingPathComponent("database")
            try FileManager.default.removeItem(at: database)
            try FileManager.default.removeItem(at: installation.folder.appendingPathComponent("content"))
            try await start(installation, ["--archive"])
            #expect(try await installation.down().exit(within: 180) == .exited(0))
            let killed = try await installation.interrupt("restore", restore, before: "^mv -T .*/restoring/archive ")
            #expect(killed == .signalled(SIGKILL))
            try await start(installation)
            try await installation.expect(place, of: "later", isGone: true)
            let names = try FileManager.default.contentsOfDirectory(atPath: database.path)
            #expect(names.contains("archive") && names.contains { $0.hasPrefix("archive.before-restore") }, "\(names)")
        }
    }

    @Test func `the next start finishes a killed restore of a dump`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let first = try await cluster.makeNamedDatabase()
        let second = try await cluster.makeNamedDatabase()
        try await Installation.using { installation in
            func settings(_ database: String) -> [String: String] {
                ["DATABASE_URL": cluster.tcpURL(database: database)]
            }
            let unfinished = installation.folder.appendingPathComponent("unfinished-restore").path
            let backup = installation.folder.appendingPathComponent("backups/dump").path
            let restore = ["--binaries", ChildProcess.product(""), "--replace", backup]
            try await start(installation, environment: settings(first))
            try await installation.load("before")
            let made = try await installation.run("backup", [backup], environment: settings(first))
            #expect(made.status == .exited(0), "\(made.output)")
            let place = try await installation.load("later")
            #expect(try await installation.down().exit(within: 180) == .exited(0))

            // A pg_restore that dies midway.
            let programs = ["initdb", "pg_ctl", "pg_restore", "postgres", "psql"]
            let broken = try await withStandIns(programs, Self.halfRestore) {
                try await installation.run(
                    "restore", ["--replace", backup], environment: settings(second).merging(["PATH": $0]) { $1 })
            }
            let errors = broken.output.split(separator: "\n").filter { $0.hasPrefix("error:") }
            #expect(broken.status == .exited(1) && errors.count == 1, "\(broken.output)")
            #expect(errors.allSatisfy { $0.contains("the database and the files are as they were") }, "\(errors)")
            let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname IN ('bus', 'lifecycle', 'transfer')"
            #expect(try await cluster.sql(schemas, database: second) == "0")
            let names = try FileManager.default.contentsOfDirectory(atPath: installation.folder.path)
            #expect(!names.contains { $0.contains("restore") }, "\(names)")

            // Before the change of the database, and between it and the exchange of the content.
            let commands = ["^sync \(installation.folder.path)$", "^mv -T .*/content\\.before-restore"]
            for (number, command) in commands.enumerated() {
                let killed = try await installation.interrupt(
                    "restore", restore, before: command, environment: settings(second))
                #expect(killed == .signalled(SIGKILL), "\(command)")
                #expect(FileManager.default.fileExists(atPath: unfinished))
                let other = "was interrupted: set the same DATABASE_URL"
                try await refuse(installation, settings(first), other)
                try await refuse(installation, [:], other)
                let repeated = try await installation.run(
                    "restore", ["--replace", backup], environment: settings(first))
                #expect(repeated.status == .exited(1) && repeated.output.contains(other), "\(repeated.output)")
                // An empty suite would take the place of the former one.
                if number == 0 { try await refuse(installation, settings(second), "repeat ./deploy/restore") }
                #expect(FileManager.default.fileExists(atPath: unfinished))
            }
            // The roles of the services belong to one database of the server.
            try await cluster.sql("DROP DATABASE \(first)")
            try await start(installation, environment: settings(second))
            try await installation.expect(place, of: "later", isGone: true)
            #expect(!FileManager.default.fileExists(atPath: unfinished))
        }
        try await cluster.destroy()
    }

    private func start(
        _ installation: Installation, _ options: [String] = [], environment: [String: String] = [:]
    ) async throws {
        let up = try installation.up(["--detach", "--no-fleet"] + options, environment: environment)
        #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
    }

    /// Expects that `deploy/up` fails with a message.
    private func refuse(_ installation: Installation, _ environment: [String: String], _ message: String) async throws {
        let up = try installation.up(["--detach", "--no-fleet"], environment: environment)
        #expect(try await up.exit(within: 60) == .exited(1))
        #expect(up.errors.tail().contains(message), "\(up.errors.tail())")
    }

    /// The programs of a PostgreSQL whose pg_restore prints half of its output and fails.
    private static let halfRestore = #"""
        #!/bin/bash
        name=${0##*/}
        PATH=${PATH#*:}
        if [[ $name == postgres ]]; then
            printf 'postgres (PostgreSQL) 99.0\n'
            exit
        fi
        source deploy/lib/packages.sh
        programs=$(postgres_programs)
        if [[ $name != pg_restore ]]; then exec "$programs/$name" "$@"; fi
        script=$("$programs/pg_restore" "$@")
        printf '%s' "${script:0:${#script} / 2}"
        exit 1
        """#
}

/// Runs a body with a PATH that begins with a folder of stand-ins for programs. All of them are the same script.
private func withStandIns<Result>(
    _ programs: [String], _ script: String, _ body: (_ path: String) async throws -> Result
) async throws -> Result {
    // Outside of the data folder, and open for the user of the database.
    let standIns = FileManager.default.temporaryDirectory.appendingPathComponent("stand-ins-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
        at: standIns, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    defer { try? FileManager.default.removeItem(at: standIns) }
    for program in programs {
        let file = standIns.appendingPathComponent(program)
        try Data(script.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try await body("\(standIns.path):\(path)")
}

extension Installation {
    /// The places that a client has: a position of the log, and a cursor of `ops`.
    struct Place {
        var position = ""
        var cursor = ""
    }

    /// Registers a device, and stores a file of the same name.
    @discardableResult func load(_ name: String) async throws -> Place {
        let device = try await call(.PUT, .lifecycle, "/v1/devices/\(name)", ["profile": "ios18"])
        #expect(device.status == 201)
        #expect(try await call(.PUT, .transfer, "/content/\(name)", ["title": "x"]).status == 201)
        let page = try await call(.GET, .ops, "/v1/events?limit=1")
        return Place(position: device.position ?? "", cursor: page.json["next"]?.string ?? "")
    }

    /// Expects that what `load` wrote is there and its place is valid, or that a restore has removed both. The device and
    /// the file with the name "before" are always there.
    ///
    /// A place is refused if the log ends before it. So this writes other events there first: then only another
    /// incarnation refuses a place of the incarnation of the backup.
    func expect(_ place: Place, of name: String, isGone: Bool) async throws {
        for (name, status) in [("before", 200), (name, isGone ? 404 : 200)] {
            #expect(try await call(.GET, .lifecycle, "/v1/devices/\(name)").status == status, "\(name)")
            #expect(try await call(.GET, .transfer, "/content/\(name)").status == status, "\(name)")
        }
        if isGone { try await load(name) }
        let answers = [
            try await call(.GET, .lifecycle, "/v1/devices/\(name)", headers: ["Dormouse-Position": place.position]),
            try await call(.GET, .ops, "/v1/events?cursor=\(place.cursor)"),
        ]
        for answer in answers {
            #expect(answer.status == (isGone ? 410 : 200), "\(name): \(answer.json)")
            if isGone { #expect(answer.json["code"]?.string == "earlier_incarnation") }
        }
    }

    /// Runs a script of `deploy` that gets a signal just before it runs a command.
    ///
    /// - Parameter command: a regular expression for the words of the command. Its program is one of `programs`.
    func interrupt(
        _ script: String, _ arguments: [String], before command: String, with signal: String = "KILL",
        environment others: [String: String] = [:]
    ) async throws -> TestSupport.ExitStatus {
        let programs = ["cp", "curl", "mv", "rm", "setpriv", "setsid", "sync"]
        return try await withStandIns(programs, Self.standIn) { path in
            let settings = [
                "PATH": path, "STOPPED_SCRIPT": "deploy/\(script) --data \(folder.path) ", "STOP_BEFORE": command,
                "STOP_SIGNAL": signal,
            ]
            let process = try ChildProcess.start(
                Repository.file("deploy/\(script)").path, ["--data", folder.path] + arguments,
                environment: environment.merging(others) { $1 }.merging(settings) { $1 })
            return try await process.exit(within: 180)
        }
    }

    /// A program that runs the one of its name. A subshell has the command line of its script, so the topmost one counts.
    private static let standIn = #"""
        #!/bin/bash
        name=${0##*/}
        PATH=${PATH#*:}
        if [[ "$name $*" =~ $STOP_BEFORE ]]; then
            script='' pid=$PPID
            while ((pid > 1)); do
                if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$STOPPED_SCRIPT"; then script=$pid; fi
                pid=$(awk '/^PPid/ { print $2 }' "/proc/$pid/status")
            done
            kill -"$STOP_SIGNAL" "$script"
            [[ $STOP_SIGNAL != KILL ]] || exit 1
        fi
        exec "$name" "$@"
        """#
}
