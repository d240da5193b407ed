import EventLog
import Logging
import Machines
import Postgres
import Runtime
import TestSupport
import Testing

@testable import OpsService

@Suite("The schema of ops") struct OpsSchemaTests {
    @Test func `counts survive later migrations`() async throws {
        try await database { connection, logger in
            _ = try await Migrator(schema: "ops", migrations: Array(OpsSchema.migrations().prefix(4)))
                .apply(on: connection, logger: logger)
            _ = try await connection.execute(
                Query(
                    Statement(
                        """
                        INSERT INTO ops.counts SELECT p, w, s * w, 'lifecycle.app.woken', 'push', '2026-03-01', 10 * s + p, w
                        FROM generate_series(0, 2) AS p, (VALUES (60), (3600), (86400)) AS w (w), generate_series(1, 5) AS s
                        """)))
            _ = try await connection.execute(
                Query(
                    Statement(
                        """
                        INSERT INTO ops.outline (partition, stretch, types, sources, earliest, latest)
                        VALUES (0, 64, '{a.b.c}', '{a}', 5, 9), (0, 65, '{a.b.c,d.e.f}', '{a}', 7, 11)
                        """)))
            let rates = Statement("SELECT r::text FROM ops.rates AS r ORDER BY 1")
            let before = try await connection.execute(Query(rates)).map { try $0.text(0) }
            #expect(before.count == 15)
            try await OpsSchema.migrate(connection, dashboardsPassword: nil, logger: logger)
            #expect(try await connection.execute(Query(rates)).map { try $0.text(0) } == before)
            let leads = Statement(
                """
                SELECT t::text FROM ops.outline_types AS t UNION ALL SELECT b::text FROM ops.outline_blocks AS b ORDER BY 1
                """)
            #expect(
                try await connection.execute(Query(leads)).map { try $0.text(0) } == [
                    "(0,1,5,11)", "(0,a.b.c,64,32769,33280)", "(0,a.b.c,65,33281,33792)", "(0,d.e.f,65,33281,33792)",
                ])
            let places = Statement(
                "SELECT DISTINCT tableoid::regclass::text || ' ' || width FROM ops.counts ORDER BY 1")
            #expect(
                try await connection.execute(Query(places)).map { try $0.text(0) } == [
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
