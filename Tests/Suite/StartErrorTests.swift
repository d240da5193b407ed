import Foundation
import TestSupport
import Testing

/// A service that cannot start prints one line with a remedy on standard error.
@Suite("Start errors", .tags(.database, .processes), .timeLimit(.minutes(8))) struct StartErrorTests {
    @Test(arguments: [SuiteService.lifecycle, .ops])
    func `a start error is one line with a remedy`(service: SuiteService) async throws {
        let suite = try await RunningSuite.start([])
        let taken = try await TCPProxy.start(port: suite.cluster.port)
        for fault in try Fault.all(of: service, suite, takenPort: taken.port) {
            try await check(fault, service)
        }
        let standby = try await suite.cluster.makeStandby(isSynchronous: false)
        let role = "postgresql://dormouse_\(service.rawValue)@127.0.0.1"
        let url = ["DATABASE_URL": "\(role):\(standby.port)/\(suite.database)", "PORT": "0"]
        let reading = Fault(
            "a standby", suite.settings(of: service).merging(url) { $1 },
            says: ["accepts no writes", "name the primary"])
        try await check(reading, service)
        try await standby.destroy()
        for command in ["check", "serve"] {
            try await suite.cluster.sql(
                """
                INSERT INTO bus.migrations (number, name, checksum)
                SELECT max(number) + 1, 'later', 'x' FROM bus.migrations
                """, database: suite.database)
            let newer = Fault(
                "\(command) and a newer database", suite.settings(of: service), command: command,
                says: ["schema bus: the database is at migration", "run a newer program"])
            try await check(newer, service)
            try await suite.cluster.sql(
                """
                DELETE FROM bus.migrations WHERE name = 'later';
                CREATE TABLE kept AS SELECT * FROM \(service.rawValue).migrations;
                DELETE FROM \(service.rawValue).migrations
                """, database: suite.database)
            let pending = Fault(
                "\(command) and pending migrations", suite.settings(of: service), command: command,
                says: [
                    "schema \(service.rawValue): the database lacks 1 (", "run the service's `migrate` command first",
                ])
            try await check(pending, service)
            try await suite.cluster.sql(
                """
                INSERT INTO \(service.rawValue).migrations SELECT * FROM kept;
                DROP TABLE kept
                """, database: suite.database)
        }
        let checked = try ChildProcess.start(
            ChildProcess.product(service.rawValue), ["check"], environment: suite.settings(of: service))
        #expect(try await checked.exit(within: 120) == .exited(0), "\(checked.errors.tail())")
        // Last, because it damages the database: simulates an edit of an applied migration.
        try await suite.cluster.sql(
            "UPDATE bus.migrations SET checksum = 'another' WHERE number = 1", database: suite.database)
        let edited = Fault(
            "an edited applied migration", suite.migrationSettings(of: service), command: "migrate",
            says: ["migration 1", "was edited after it was applied", "restore the file"])
        try await check(edited, service)
        // A database from before the migrations were squashed: the first migration had another name.
        try await suite.cluster.sql("UPDATE bus.migrations SET name = 'bus' WHERE number = 1", database: suite.database)
        for command in ["check", "serve", "migrate"] {
            let earlier = Fault(
                "\(command) and a database of an earlier layout",
                command == "migrate" ? suite.migrationSettings(of: service) : suite.settings(of: service),
                command: command,
                says: ["schema bus: an earlier development version", "create an empty database", "run `migrate` again"])
            try await check(earlier, service)
        }
        try await taken.stop()
        try await suite.cluster.destroy()
    }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `a database with Citus that can't be used is one line with a remedy`() async throws {
        let suite = try await RunningSuite.start([], workers: 1)
        let worker = suite.cluster.workers[0]
        let service = SuiteService.lifecycle
        func expect(_ name: String, _ url: [String: String], _ says: String..., commands: [String]) async throws {
            for command in commands {
                let settings = command == "migrate" ? suite.migrationSettings(of: service) : suite.settings(of: service)
                let more = url.merging(["PORT": "0"]) { $1 }
                try await check(
                    Fault("\(command) and \(name)", settings.merging(more) { $1 }, command: command, says: says),
                    service)
            }
        }
        let all = ["check", "serve", "migrate"]
        try await expect(
            "a worker",
            [
                "DATABASE_URL": "postgresql://dormouse_lifecycle@127.0.0.1:\(worker.port)/\(suite.database)",
                "MIGRATION_DATABASE_URL": worker.url(database: suite.database),
            ], "is on a worker of Citus", "name the coordinator", commands: all)
        try await suite.cluster.sql("SELECT undistribute_table('lifecycle.states')", database: suite.database)
        try await expect(
            "local states", [:], #""lifecycle".states"#, "run the service's `migrate` command",
            commands: ["check", "serve"])
        try await ChildProcess.migrate("lifecycle", settings: suite.migrationSettings(of: service))
        let checked = try ChildProcess.start(
            ChildProcess.product("lifecycle"), ["check"], environment: suite.settings(of: service))
        #expect(try await checked.exit(within: 60) == .exited(0), "\(checked.errors.tail())")
        try await suite.cluster.sql(
            "SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) FROM pg_dist_node",
            database: suite.database)
        try await expect("no workers", [:], "has no workers", "citus_add_node", commands: all)
        try await suite.cluster.sql(
            """
            SET allow_system_table_mods = on; SET citus.enable_version_checks = off;
            UPDATE pg_extension SET extversion = '11.3-1' WHERE extname = 'citus'
            """, database: suite.database)
        try await expect("an old version", [:], "version 11.3-1 of Citus", "install version 13", commands: all)
        try await suite.cluster.destroy()
    }

    private func check(_ fault: Fault, _ service: SuiteService) async throws {
        let process = try ChildProcess.start(
            ChildProcess.product(service.rawValue), [fault.command] + fault.options, environment: fault.settings)
        let status = try await process.exit(within: 120)
        let (lines, place) = (process.errors.lines, Comment(rawValue: "\(service) with \(fault.name)"))
        #expect(status == .exited(fault.status), place)
        #expect(lines.count == 1, "\(service) with \(fault.name): \(lines)")
        #expect(process.output.lines.isEmpty, place)
        let line = lines.first ?? ""
        #expect(line.hasPrefix("\(service): "), place)
        for words in fault.says { #expect(line.contains(words), place) }
        // A random name may contain a word of the list.
        let told = line.replacing(/test_[0-9a-z_]+/, with: "")
        for secret in [Fault.secret, "secret-of", "Stack dump", "Fatal error", ".swift", "0x"] {
            #expect(!told.contains(secret), place)
        }
    }
}

/// A start that must fail.
private struct Fault {
    static let secret = "hunter2-not-the-one"

    let name: String
    let command: String
    var options: [String] = []
    let settings: [String: String]
    /// The exit status: 78 for invalid settings, 1 for all other errors.
    let status: Int32
    let says: [String]

    init(
        _ name: String, _ settings: [String: String], command: String = "serve", options: [String] = [],
        status: Int32 = 1, says: [String]
    ) {
        (self.name, self.command, self.settings, self.options) = (name, command, settings, options)
        (self.status, self.says) = (status, says)
    }

    static func all(of service: SuiteService, _ suite: RunningSuite, takenPort: Int) throws -> [Fault] {
        let good = suite.settings(of: service).merging(["PORT": "0"]) { $1 }
        func with(_ more: [String: String]) -> [String: String] { good.merging(more) { $1 } }
        func url(_ place: String) -> [String: String] {
            with([
                "DATABASE_URL": "postgresql://dormouse_\(service.rawValue):\(secret)@\(place)",
                // An empty variable counts as unset.
                "DATABASE_PASSWORD_FILE": "",
            ])
        }
        let (database, port) = (suite.database, suite.cluster.port)
        let nobody = try freePort()
        return [
            Fault(
                "no DATABASE_URL", with(["DATABASE_URL": "", "PGPORT": "\(nobody)"]),
                says: ["no connection to PostgreSQL at localhost", "check host and port"]),
            Fault(
                "no MIGRATION_DATABASE_URL", with(["MIGRATION_DATABASE_URL": ""]), command: "migrate", status: 78,
                says: ["MIGRATION_DATABASE_URL (--migration-database-url) is needed to migrate"]),
            Fault(
                "an unreachable database", url("127.0.0.1:\(nobody)/\(database)"),
                says: ["127.0.0.1:\(nobody)/\(database)", "nothing answers there", "check host and port"]),
            Fault(
                "a wrong password", url("127.0.0.1:\(port)/\(database)"),
                says: ["127.0.0.1:\(port)/\(database)", "refuses the role or password; check both"]),
            Fault(
                "an unknown database", with(["DATABASE_URL": (good["DATABASE_URL"] ?? "") + "_not"]),
                says: ["the database does not exist"]),
            Fault(
                "a database without a log",
                with(["DATABASE_URL": "postgresql://dormouse_\(service.rawValue)@127.0.0.1:\(port)/postgres"]),
                says: ["the database has no event log", "`migrate` command"]),
            Fault(
                "an invalid URL", with(["DATABASE_URL": "postgresql://x:\(secret)@host:port:1/\(database)"]),
                says: []),
            Fault("a port in use", with(["PORT": "\(takenPort)"]), says: ["port \(takenPort) is in use", "--port"]),
            Fault(
                "another number of partitions than the log", with(["PARTITIONS": "7"]),
                says: ["PARTITIONS is 7", "created with 16", "set PARTITIONS=16"]),
            Fault(
                "an unknown option", good, options: ["--pahse", "1"], status: 78,
                says: ["--pahse is not an option; --help lists them"]),
            Fault(
                "a setting out of range", with(["PORT": "66666"]), status: 78,
                says: ["PORT (--port) must be a number from 0 to 65535"]),
            Fault(
                "a missing password file", with(["DATABASE_PASSWORD_FILE": "/nowhere/at/all"]), status: 78,
                says: ["DATABASE_PASSWORD_FILE: cannot read the file"]),
        ] + (service == .push ? providerFaults(with, takenPort) : [])
    }

    /// The faults of the provider endpoint.
    private static func providerFaults(
        _ with: ([String: String]) -> [String: String], _ takenPort: Int
    ) -> [Fault] {
        [
            Fault(
                "the port of the provider endpoint in use", with(["PORT": "0", "APNS_PORT": "\(takenPort)"]),
                says: ["port \(takenPort) is in use", "--apns-port"]),
            Fault(
                "a certificate without its key", with(["PORT": "0", "APNS_TLS_CERTIFICATE": "/nowhere.pem"]),
                status: 78,
                says: ["APNS_TLS_CERTIFICATE (--apns-tls-certificate) and APNS_TLS_KEY", "must be set together"]),
            Fault(
                "a folder without write access", with(["PORT": "0", "APNS_CERTIFICATES": "/proc/none"]), status: 78,
                says: ["APNS_CERTIFICATES (--apns-certificates): can't write /proc/none"]),
        ]
    }
}
