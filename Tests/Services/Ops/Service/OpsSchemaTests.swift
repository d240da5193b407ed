import EventLog
import Logging
import Machines
import Postgres
import Runtime
import TestSupport
import Testing

@testable import OpsService

@Suite("The schema of ops", .tags(.database)) struct OpsSchemaTests {
    @Test func `counts of each width are in their own table`() async throws {
        try await database { connection, logger in
            try await OpsSchema.migrate(connection, dashboardsPassword: nil, logger: logger)
            _ = try await connection.execute(
                Query(
                    Statement(
                        """
                        INSERT INTO ops.counts SELECT p, w, s * w, 'lifecycle.app.woken', 'push', '2026-03-01', 10 * s + p, w
                        FROM generate_series(0, 2) AS p, (VALUES (60), (3600), (86400)) AS w (w), generate_series(1, 5) AS s
                        """)))
            let rates = Statement("SELECT count(*)::int8 FROM ops.rates")
            #expect(try await connection.execute(Query(rates))[0].decode(Int.self, at: 0) == 15)
            let tables = Statement(
                "SELECT DISTINCT tableoid::regclass::text || ' ' || width FROM ops.counts ORDER BY 1")
            #expect(
                try await connection.execute(Query(tables)).map { try $0.decode(String.self, at: 0) } == [
                    "ops.counts_days 86400", "ops.counts_hours 3600", "ops.counts_minutes 60",
                ])
        }
    }

    private func database(_ body: (Connection, Logger) async throws -> Void) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let cluster = try await PrivateCluster.shared()
        let url = cluster.url(database: try await cluster.makeNamedDatabase())
        let connection = try await Connection.open(try ConnectionOptions(url: url), logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: 3, rolePassword: nil, logger: logger)
        try await LogSchema.grantOperators(password: nil, connection)
        try await body(connection, logger)
        await connection.close()
    }
}
