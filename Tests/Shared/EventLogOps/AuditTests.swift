import Postgres
import Records
import TestSupport
import Testing

@testable import EventLog

/// The audit trail in the database: its rights, its limits and its retention.
@Suite("Audit trail", .tags(.database), .timeLimit(.minutes(5))) struct AuditTests {
    private static let entry = AuditEntry(
        .fleetTokenIssued, by: AuditActor(.operator, "ci"), from: "10.0.0.7", of: "fleet:blue", details: ["x": 1])

    @Test(arguments: [("dormouse_counter", "counter"), ("dormouse_ops", "ops")])
    func `a role adds rows in its own name and changes none`(role: String, service: String) async throws {
        let fixture = try await OpsFixture()
        try await fixture.asRole(role) { connection in
            _ = try await connection.execute(Self.entry.query)
            for write in [
                "UPDATE bus.audit SET count = 2", "DELETE FROM bus.audit", "TRUNCATE bus.audit",
                "INSERT INTO bus.audit (service, actor_kind, action) VALUES ('another', 'operator', 'clock.set')",
                "INSERT INTO bus.audit (at, actor_kind, action) VALUES (now(), 'operator', 'clock.set')",
            ] {
                let error = await #expect(throws: PostgresError.self) { try await connection.script(write) }
                #expect(error?.sqlState == "42501", "\(write)")
            }
            let seen = try await connection.execute(Statement("SELECT count(*) FROM bus.audit"))[0].decode(Int.self)
            #expect(seen == (service == "ops" ? 1 : 0), "only ops reads the rows")
        }
        let rows = try await fixture.sql(
            "SELECT service, actor_kind, actor, address, action, subject, count, details::text FROM bus.audit")
        #expect(
            try rows.decode((String, String, String?, String?, String, String?, Int, String).self).map { "\($0)" } == [
                "(\"\(service)\", \"operator\", Optional(\"ci\"), Optional(\"10.0.0.7\"), \"fleetToken.issued\", "
                    + "Optional(\"fleet:blue\"), 1, \"{\\\"x\\\": 1}\")"
            ])
    }

    @Test func `rows older than the retention are deleted`() async throws {
        let fixture = try await OpsFixture()
        _ = try await fixture.sql(
            """
            INSERT INTO bus.audit (at, actor_kind, action, subject)
            SELECT now() - interval '1 day' * age, 'anonymous', 'credential.refused', age::text
            FROM unnest('{6,7.01,400}'::float8[]) AS age
            """)
        let serving = LogMaintenance(pool: fixture.pool, retentionDays: nil, auditDays: 7, logger: fixture.logger)
        _ = try await serving.round()
        #expect(try await fixture.sql("SELECT 1 FROM bus.audit").count == 3, "a service deletes no rows")
        let owner = LogMaintenance(pool: fixture.pool, retentionDays: 30, auditDays: 7, logger: fixture.logger)
        _ = try await owner.round()
        #expect(try await fixture.sql("SELECT subject FROM bus.audit").decode(String.self) == ["6"])
    }

    @Test func `large details are refused`() async throws {
        let fixture = try await OpsFixture()
        let large = Self.entry.with("text", .string(String(repeating: "x", count: 5000)))
        let error = await #expect(throws: PostgresError.self) { try await fixture.pool.execute(large.query) }
        #expect(error?.sqlState == "23514")
        #expect(try await fixture.sql("SELECT 1 FROM bus.audit").isEmpty)
    }
}

extension OpsFixture {
    /// Runs `body` with the rights of a role, then restores those of the owner.
    fileprivate func asRole(_ role: String, _ body: (Connection) async throws -> Void) async throws {
        try await pool.withConnection { connection in
            try await connection.script("SET ROLE \(role)")
            try await body(connection)
            try await connection.script("RESET ROLE")
        }
    }
}
