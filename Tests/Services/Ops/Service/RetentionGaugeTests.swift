import EventLog
import Telemetry
import TestSupport
import Testing

@testable import OpsService

/// The gauge of days that should have been dropped.
@Suite("Retention gauge", .tags(.database)) struct RetentionGaugeTests {
    @Test func `days that should have been dropped are a metric`() async throws {
        try await OpsFixture.run { fixture in
            let metrics = Metrics()
            let gauge = LagGauge(
                queries: LogQueries(pool: fixture.pool, partitions: OpsFixture.partitions), metrics: metrics,
                retentionDays: 30)
            var named: Set<String> = []
            await gauge.note(&named)
            #expect(metrics.text.contains("\ndormouse_log_overdue_seconds 0\n"))
            try await fixture.sql(
                """
                DO $$ DECLARE old date := current_date - 35; BEGIN
                    EXECUTE format('CREATE TABLE bus.events_%s PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                        to_char(old, 'YYYYMMDD'), old, old + 1);
                END $$
                """)
            await gauge.note(&named)
            #expect(metrics.text.contains("\ndormouse_log_overdue_seconds 432000\n"))
        }
    }
}
