import Foundation
import Postgres
import TestSupport
import Testing

/// A role writes only the rows of its own service.
@Suite(.tags(.database)) struct RowPolicyTests {
    @Test(arguments: [
        (
            "bus.members",
            "INSERT INTO bus.members (consumer, member, since_time, expires) VALUES ('%', gen_random_uuid(), 0, now())",
            "UPDATE bus.members SET expires = 'infinity'", readsAll: true
        ),
        (
            "bus.idempotency",
            "INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer) VALUES (0, '%', 'k', '', '')",
            "UPDATE bus.idempotency SET progress = 1", readsAll: false
        ),
    ])
    func `a role can write only the rows of its own service`(
        _ table: String, _ insert: String, _ update: String, readsAll: Bool
    ) async throws {
        let fixture = try await RuntimeFixture()
        func adding(_ service: String) -> String { insert.split(separator: "%").joined(separator: service) }
        try await fixture.pool.withConnection { connection in
            func run(_ sql: String) async throws -> Int {
                try await connection.execute(Query(Statement(sql))).affected
            }
            _ = try await run(adding("other"))
            _ = try await run("SET ROLE dormouse_counter")
            #expect(try await run(adding("counter")) == 1)
            let error = await #expect(throws: PostgresError.self) { _ = try await run(adding("another")) }
            #expect(error?.sqlState == "42501")
            #expect(try await run("SELECT FROM \(table)") == (readsAll ? 2 : 1))
            #expect(try await run(update) == 1)
            #expect(try await run("DELETE FROM \(table)") == 1)
            _ = try await run("RESET ROLE")
            #expect(try await run("SELECT FROM \(table)") == 1)
        }
        await fixture.pool.close()
    }
}
