import EventLog
import Foundation
import Logging
import Postgres
import TestSupport
import Testing

/// The passwords of roles are secrets, also for the server's log.
@Suite("Role passwords", .tags(.database)) struct RolePasswordTests {
    @Test func `a role gets its password, and the log of statements does not`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false, settings: ["log_statement": "all"])
        let database = try await cluster.makeNamedDatabase()
        let logger = Logger(label: "passwords")
        let password = "it's a $1 secret"
        let owner = try await Connection.open(
            try ConnectionOptions(url: cluster.url(database: database)), logger: logger)
        try await LogSchema.grant(role: "reader", password: password, "", owner)
        await owner.close()

        var url = try #require(URLComponents(string: "postgresql://127.0.0.1/\(database)"))
        (url.user, url.port) = ("reader", cluster.port)
        func session(_ password: String) async throws -> Connection {
            try await Connection.open(
                try ConnectionOptions(url: try #require(url.string), password: password), logger: logger)
        }
        try await session(password).close()
        await #expect(throws: PostgresError.self) { _ = try await session("another") }

        let log = try String(contentsOfFile: "\(cluster.socketDirectory)/server.log", encoding: .utf8)
        #expect(log.contains("ALTER ROLE reader LOGIN PASSWORD 'SCRAM-SHA-256$"))
        #expect(!log.contains("secret"))
        try await cluster.destroy()
    }
}
