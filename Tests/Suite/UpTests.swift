import Foundation
import Glibc
import NIOHTTP1
import Records
import TestSupport
import Testing

/// `deploy/up` and `deploy/down`, in a terminal and without one.
@Suite("deploy/up", .tags(.database, .processes), .serialized, .timeLimit(.minutes(15))) struct UpTests {
    private static let escape = "\u{1b}"

    /// A server may log its statements, and all users of a machine can read arguments.
    @Test func `no statement and no argument has the password of the database's owner`() async throws {
        let script = try #require(Bundle.module.path(forResource: "owner", ofType: "py", inDirectory: "Python"))
        let check = try ChildProcess.start("/usr/bin/env", ["python3", script, Repository.root.path])
        #expect(try await check.exit(within: 300) == .exited(0), "\(check.errors.tail())")
        #expect(check.output.lines.isEmpty, "\(check.output.tail())")
    }

    @Test func `replicas share the work and a second start continues with the data`() async throws {
        try await Installation.using { installation in
            let up = try installation.up(["--replicas", "3", "--detach"])
            #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            #expect(up.output.lines.allSatisfy { !$0.contains(Self.escape) })
            for replica in 1...3 {
                for service in SuiteService.writers {
                    #expect(try await installation.call(.GET, service, replica: replica, "/readyz").status == 200)
                }
            }
            #expect(try await installation.call(.GET, .ops, "/readyz").status == 200)
            try await eventually(within: 90, describe: "the fleet opens apps") {
                let page = try await installation.call(.GET, .ops, "/v1/events?type=lifecycle.app.activated&limit=1")
                return page.json["items"]?.items?.isEmpty == false
            }
            try await eventually(within: 90, describe: "three processes of each service share its partitions") {
                let consumers = try await installation.call(.GET, .ops, "/v1/consumers").json["items"]?.items ?? []
                return consumers.count == SuiteService.writers.count
                    && consumers.allSatisfy { consumer in
                        let places = consumer["partitions"]?.items ?? []
                        let owners = places.compactMap { $0["owner"]?.string }
                        return places.count == 16 && owners.count == 16 && Set(owners).count == 3
                    }
            }
            #expect(installation.running.count >= 15)
            try await tryNext(up, "phone-1")

            let again = try installation.up()
            #expect(try await again.exit() == .exited(0))
            #expect(again.output.lines.contains { $0.contains("Already running") })
            let down = try installation.down()
            #expect(try await down.exit(within: 180) == .exited(0))
            #expect(installation.running.isEmpty)

            // Like a supervisor: without a terminal, and with SIGTERM.
            let watched = try installation.up()
            try await watched.waitForLine(containing: "Ctrl-C stops everything", within: 400)
            try await watched.waitForLine(containing: " App ", within: 90)
            #expect(try await installation.call(.GET, .lifecycle, "/v1/devices/phone-1").status == 200)
            #expect(watched.output.lines.allSatisfy { !$0.contains("datacontenttype") })
            watched.signal(SIGTERM)
            #expect(try await watched.exit(within: 180) == .exited(0), "\(watched.errors.tail())")
            #expect(watched.output.lines.allSatisfy { !$0.contains(Self.escape) })
            #expect(installation.running.isEmpty)
        }
    }

    /// Runs with `DATABASE_URL` and `--virtual-time`, and without a fleet.
    @Test func `a given database and a virtual clock are used`() async throws {
        try await Installation.using { installation in
            let cluster = try await PrivateCluster.make()
            let database = try await cluster.makeNamedDatabase()
            let url = cluster.tcpURL(database: database).replacing("postgresql://", with: "postgres://")
            let up = try installation.up(
                ["--detach", "--no-fleet", "--virtual-time"],
                environment: ["DATABASE_URL": url, "ROLE_PREFIX": "blue_team"])
            #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            #expect(
                !up.output.lines.contains { $0.contains("Starting PostgreSQL") || $0.contains("demonstration fleet") })
            // No command line has the owner's password, and each service has its own role.
            for command in installation.running { #expect(!command.contains(cluster.password), "\(command)") }
            let roles = try await cluster.sql(
                """
                SELECT string_agg(DISTINCT usename, ' ' ORDER BY usename) FROM pg_stat_activity
                WHERE datname = '\(database)' AND usename <> '\(cluster.superuser)'
                """)
            #expect(roles == "blue_team_fetch blue_team_lifecycle blue_team_ops blue_team_push blue_team_transfer")

            try await installation.checkEndpoints(url)
            let begun = try await installation.call(.GET, .ops, "/v1/clock").json
            let step = try await installation.call(.POST, .ops, "/v1/clock/advance", ["seconds": 3600])
            #expect(begun["virtual"] == true && step.status == 200, "\(begun) \(step.json)")
            #expect(try await installation.call(.GET, .ops, "/v1/devices").json["items"]?.items?.isEmpty == true)

            let down = try installation.down()
            #expect(try await down.exit(within: 180) == .exited(0))
            #expect(installation.running.isEmpty)
            // The script must not stop or empty a given database.
            #expect(try await cluster.sql("SELECT count(*) FROM bus.partitions", database: database) == "16")
            try await cluster.destroy()
        }
    }

    @Test func `a database of an earlier layout is refused with a remedy`() async throws {
        try await Installation.using { installation in
            let cluster = try await PrivateCluster.make()
            let database = try await cluster.makeNamedDatabase()
            try await cluster.sql(
                """
                CREATE SCHEMA bus;
                CREATE TABLE bus.migrations (number integer, name text, checksum text);
                INSERT INTO bus.migrations VALUES (1, 'bus', 'x'), (2, 'clock', 'x')
                """, database: database)
            let url = cluster.tcpURL(database: database).replacing("postgresql://", with: "postgres://")
            let up = try installation.up(["--detach", "--no-fleet"], environment: ["DATABASE_URL": url])
            #expect(try await up.exit(within: 400) == .exited(1), "\(up.output.tail()) \(up.errors.tail())")
            let shown = up.errors.lines.filter { $0.contains("an earlier development version of Dormouse") }
            #expect(shown.count == 1, "\(up.errors.tail())")
            #expect(shown.first?.contains("create an empty database") == true, "\(shown)")
            #expect(installation.running.isEmpty)
            // Nothing is deleted.
            #expect(try await cluster.sql("SELECT count(*) FROM bus.migrations", database: database) == "2")
            try await cluster.destroy()
        }
    }

    @Test func `a terminal shows the feed in colour until Ctrl-C`() async throws {
        try await Installation.using { installation in
            let event = "\(Self.escape)\\[3[1-6]m[A-Z][a-z]+ [a-z]+"
            let up = try installation.upInTerminal(until: "Ctrl-C stops everything.*" + event)
            #expect(try await up.exit(within: 500) == .exited(0), "\(up.output.tail())")
            let shown = up.output.lines.joined(separator: "\n")
            for service in SuiteService.allCases {
                #expect(shown.contains("\(service.rawValue) is ready: http://127.0.0.1:\(installation.port(service))"))
            }
            for words in ["Dormouse is running.", "dashboard", "Try next:", "Stopping", "PostgreSQL stopped"] {
                #expect(shown.contains(words), "\(words)")
            }
            #expect(installation.running.isEmpty)
            let endpoints = installation.folder.appendingPathComponent("endpoints.json").path
            #expect(!FileManager.default.fileExists(atPath: endpoints))
        }
    }

    @Test func `Ctrl-C before all services are ready undoes the start`() async throws {
        try await Installation.using { installation in
            let up = try installation.upInTerminal(until: "Starting the services.*lifecycle is ready")
            #expect(try await up.exit(within: 400) == .exited(130), "\(up.output.tail())")
            #expect(installation.running.isEmpty)
        }
    }

    /// The commands after "Try next" work as a script.
    private func tryNext(_ up: ChildProcess, _ answer: String) async throws {
        let advice = up.output.lines.drop { $0 != "Try next:" }.dropFirst(2).prefix { !$0.isEmpty }
        let shell = try ChildProcess.start("/bin/sh", ["-euc", advice.joined(separator: "\n")])
        #expect(try await shell.exit() == .exited(0), "\(advice)")
        #expect(shell.output.tail().contains(answer), "\(advice) \(shell.output.tail())")
    }
}

extension Installation {
    /// `endpoints.json` has everything that a script needs, and only its owner can read it.
    fileprivate func checkEndpoints(_ database: String) async throws {
        let file = folder.appendingPathComponent("endpoints.json").path
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let document = try JSON(parsing: Array(try Data(contentsOf: URL(fileURLWithPath: file))))
        for service in SuiteService.allCases {
            #expect(document[service.rawValue]?.string == "http://127.0.0.1:\(port(service))")
        }
        #expect(document["apns"]?.string == "https://localhost:\(base + 97)")
        #expect(document["database"]?.string == database)
        let key = try String(contentsOf: folder.appendingPathComponent("secrets/operator-key"), encoding: .utf8)
        #expect(document["operatorKey"]?.string == key)
        let authority = try #require(document["ca"]?.string)
        #expect(try String(contentsOfFile: authority, encoding: .utf8).contains("BEGIN CERTIFICATE"))
    }
}
