import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import TestSupport
import Testing

/// The roles of several installations in one cluster, and roles of others.
@Suite("Prefixes of roles", .tags(.database), .timeLimit(.minutes(5))) struct RolePrefixTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func `two installations in one cluster have their own roles, passwords and rights`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let (first, second) = (try await cluster.makeNamedDatabase(), try await cluster.makeNamedDatabase())
        try await migrate(first, cluster, LogRoles(prefix: "blue"), password: "first")
        try await migrate(second, cluster, LogRoles(prefix: "green_2"), password: "second")

        for (role, password, own, other) in [
            ("blue_counter", "first", first, second), ("green_2_counter", "second", second, first),
        ] {
            let session = try await session(role, password, own, cluster)
            try await session.script(Self.append("counter", offset: 1))
            // The role appends only in the name of its service.
            #expect(try await state(of: Self.append("fetch", offset: 2), session) == "42501")
            await session.close()
            let visitor = try await self.session(role, password, other, cluster)
            // It has no rights in the other database.
            #expect(try await state(of: "SELECT FROM bus.events", visitor) == "42501")
            await visitor.close()
        }
        try await cluster.destroy()
    }

    @Test func `the password of another installation's role does not change`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let (first, second) = (try await cluster.makeNamedDatabase(), try await cluster.makeNamedDatabase())
        try await migrate(first, cluster, .standard, password: "first")
        await #expect(throws: LogError.roleOfOtherDatabase(role: "dormouse_counter", database: first)) {
            try await migrate(second, cluster, .standard, password: "second")
        }
        try await session("dormouse_counter", "first", first, cluster).close()
        // A second run, as of an update, is of the same installation. So is one after the other database has gone.
        try await migrate(first, cluster, .standard, password: "renewed")
        try await session("dormouse_counter", "renewed", first, cluster).close()
        try await cluster.sql("DROP DATABASE \"\(first)\"")
        try await migrate(second, cluster, .standard, password: "second")
        try await session("dormouse_counter", "second", second, cluster).close()
        try await cluster.destroy()
    }

    @Test func `a role that Dormouse has not created is refused, unless it is marked`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let database = try await cluster.makeNamedDatabase()
        try await cluster.sql("CREATE ROLE dormouse_counter NOLOGIN")
        await #expect(throws: LogError.foreignRole("dormouse_counter")) {
            try await migrate(database, cluster, .standard, password: "taken")
        }
        let state = try await cluster.sql(
            "SELECT rolcanlogin::text || (rolpassword IS NULL)::text FROM pg_authid WHERE rolname = 'dormouse_counter'")
        #expect(state.contains("falsetrue"), "it is as before")
        try await cluster.sql("COMMENT ON ROLE dormouse_counter IS 'Dormouse'")
        try await migrate(database, cluster, .standard, password: "given")
        try await session("dormouse_counter", "given", database, cluster).close()
        try await cluster.destroy()
    }

    @Test func `a database keeps its prefix`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let database = try await cluster.makeNamedDatabase()
        try await migrate(database, cluster, LogRoles(prefix: "blue"), password: nil)
        await #expect(throws: LogError.otherRolePrefix(configured: "dormouse", inDatabase: "blue")) {
            try await migrate(database, cluster, .standard, password: nil)
        }
        #expect(try await cluster.sql("SELECT count(*) FROM pg_roles WHERE rolname ^@ 'dormouse_'").contains("0"))
        try await cluster.destroy()
    }

    @Test(arguments: [
        ("dormouse", true), ("a", true), ("team_2", true), (String(repeating: "a", count: 32), true), ("", false),
        ("Blue", false), ("2a", false), ("_a", false), ("pg_a", false), ("pg", false), ("a-b", false), ("a b", false),
        ("a'; --", false), (String(repeating: "a", count: 33), false), ("bläu", false),
    ])
    func `a prefix is a name that needs no quotes`(text: String, isPrefix: Bool) {
        #expect(LogRoles.isPrefix(text) == isPrefix)
    }

    private func migrate(
        _ database: String, _ cluster: PrivateCluster, _ roles: LogRoles, password: String?
    ) async throws {
        let owner = try await Connection.open(
            try ConnectionOptions(url: cluster.url(database: database)), logger: Self.logger)
        do {
            try await RuntimeSchema.migrate(
                service: Counter.name, owner, partitions: 1, rolePassword: password, roles: roles, logger: Self.logger)
        } catch {
            await owner.close()
            throw error
        }
        await owner.close()
    }

    private func session(
        _ role: String, _ password: String, _ database: String, _ cluster: PrivateCluster
    ) async throws -> Connection {
        let url = "postgresql://\(role)@127.0.0.1:\(cluster.port)/\(database)"
        return try await Connection.open(try ConnectionOptions(url: url, password: password), logger: Self.logger)
    }

    /// Returns the SQLSTATE of a refused script; nil if it succeeds.
    private func state(of script: String, _ connection: Connection) async throws -> String? {
        do { try await connection.script(script) } catch { return error.sqlState }
        return nil
    }

    private static func append(_ source: String, offset: Int) -> String {
        """
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
        VALUES (0, \(offset), current_date, gen_random_uuid(), '\(source)', 'a.b.c', 1, 'device:a', 0, gen_random_uuid(),
            '{}')
        """
    }
}
