import EventLog
import MachineTesting
import Machines
import TestSupport
import Testing

@testable import Postgres
@testable import Runtime

/// The plans of the hot statements on one PostgreSQL. A new table is small and has no statistics, and a generic plan from
/// that time stays in use while the table grows.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct StatementPlanTests {
    @Test func `a lookup of a row reads no whole table`() async throws {
        try await withPlans { plan in
            for (name, statement) in lookups(Statements(service: Counter.name), LogReader.behindCursors) {
                let read = tables(readBy: try await plan(statement))
                #expect(read.isEmpty, "\(name) reads \(read)")
            }
        }
    }

    /// Without this, the test above could not fail.
    @Test func `the condition for Citus makes a lookup read the whole table`() async throws {
        try await withPlans { plan in
            let statements = Statements(service: Counter.name, isDistributed: true)
            let read = tables(readBy: try await plan(statements.writeStates))
            #expect(read == ["states"])
        }
    }

    private func lookups(_ statements: Statements, _ unread: Statement) -> [(String, Statement)] {
        [
            ("states", statements.states), ("answers", statements.answers), ("deadlines", statements.deadlines),
            ("deadlinesOfOthers", statements.deadlinesOfOthers), ("writeStates", statements.writeStates),
            ("behindCursors", unread),
        ]
    }

    /// The tables that a plan reads from beginning to end, except those with a bound of rows.
    private func tables(readBy plan: [String]) -> Set<String> {
        let read = plan.compactMap { $0.firstMatch(of: /Seq Scan on (\w+)/).map { String($0.1) } }
        return Set(read).subtracting(["partitions", "cursors"])
    }

    /// Fills the new tables, without statistics, and lends a function that returns the generic plan of a statement.
    private func withPlans(_ body: (_ plan: (Statement) async throws -> [String]) async throws -> Void) async throws {
        let fixture = try await RuntimeFixture()
        let connection = try await Connection.open(try ConnectionOptions(url: fixture.url), logger: fixture.logger)
        try await connection.script(
            """
            ALTER TABLE "\(Counter.name)".states SET (autovacuum_enabled = false);
            INSERT INTO "\(Counter.name)".states
                (partition, key, state, machine_version, version, event_count, decided_at)
            SELECT n % \(fixture.partitions), 'device:' || n, '', 1, 1, 1, 0 FROM generate_series(1, 500) AS n;
            SET plan_cache_mode = force_generic_plan;
            """)
        try await body { statement in
            let count = statement.sql.matches(of: /\$(\d+)/).compactMap { Int($0.1) }.max() ?? 0
            let values = Array(repeating: "NULL", count: count).joined(separator: ", ")
            try await connection.script("PREPARE planned AS \(statement.sql)")
            let rows = try await connection.execute(Query(Statement("EXPLAIN EXECUTE planned(\(values))")))
            try await connection.script("DEALLOCATE planned")
            return try rows.decode(String.self)
        }
        await connection.close()
        await fixture.pool.close()
    }
}
