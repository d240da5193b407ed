import Foundation
import TestSupport
import Testing

@Suite("The private cluster", .tags(.database, .processes), .timeLimit(.minutes(4)))
struct PrivateClusterTests {
    @Test func `several tests create databases at once`() async throws {
        let cluster = try await PrivateCluster.shared()
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await cluster.makeNamedDatabase() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(names.count == 8)
        for name in names {
            #expect(try await cluster.sql("SELECT current_database()", database: name) == name)
        }
    }

    @Test func `TCP requires the password and the local socket does not`() async throws {
        let cluster = try await PrivateCluster.shared()
        let name = try await cluster.makeNamedDatabase()
        let tcp = cluster.tcpURL(database: name)
        let psql = try psqlPath()
        #expect(try await ChildProcess.start(psql, ["-Atc", "SELECT 1", tcp]).exit() == .exited(0))
        let wrong = tcp.replacingOccurrences(of: cluster.password, with: "wrong")
        let refused = try ChildProcess.start(psql, ["-Atc", "SELECT 1", wrong])
        #expect(try await refused.exit() == .exited(2))
        #expect(refused.errors.tail().contains("password authentication failed"))
        let passwordless = cluster.url(database: name).replacingOccurrences(of: ":\(cluster.password)", with: "")
        #expect(try await ChildProcess.start(psql, ["-wAtc", "SELECT 1", passwordless]).exit() == .exited(0))
    }

    @Test func `a template database is prepared once and copied`() async throws {
        let cluster = try await PrivateCluster.shared()
        let prepared = Tally()
        let templates = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await cluster.template("one table") { url in
                        prepared.add()
                        let name = try #require(URL(string: url)?.lastPathComponent)
                        try await cluster.sql("CREATE TABLE dormice (name text)", database: name)
                    }
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(prepared.count == 1)
        let name = try await cluster.makeNamedDatabase(template: try #require(templates.first))
        #expect(try await cluster.sql("SELECT count(*) FROM dormice", database: name) == "0")
    }

    @Test func `a killed server starts again with its data`() async throws {
        let cluster = try await PrivateCluster.make(settings: ["application_name": "it's ours"])
        let name = try await cluster.makeNamedDatabase()
        try await cluster.sql("CREATE TABLE t AS SELECT 42 AS a", database: name)
        #expect(try await cluster.sql("SHOW fsync") == "on")

        try await cluster.kill()
        await #expect(throws: ClusterFailed.self) { try await cluster.sql("SELECT 1") }
        try await cluster.start()
        #expect(try await cluster.sql("SELECT a FROM t", database: name) == "42")

        for mode in [PrivateCluster.StopMode.smart, .fast, .immediate] {
            try await cluster.stop(mode)
            await #expect(throws: ClusterFailed.self) { try await cluster.sql("SELECT 1") }
            try await cluster.start()
            #expect(try await cluster.sql("SELECT a FROM t", database: name) == "42")
        }
        try await cluster.destroy()
        #expect(!FileManager.default.fileExists(atPath: cluster.socketDirectory))
    }

    @Test func `a server that can't start reports the cause`() async throws {
        let failure = await #expect(throws: ClusterFailed.self) {
            try await PrivateCluster.make(settings: ["shared_buffers": "nonsense"])
        }
        #expect(failure?.description.contains("shared_buffers") == true)
    }

    private func psqlPath() throws -> String {
        try #require(["/usr/bin/psql", "/usr/local/bin/psql"].first(where: FileManager.default.isExecutableFile))
    }
}
