import EventLog
import Telemetry
import TestSupport
import Testing

@testable import OpsService

/// The gauges of days that should have been dropped, and of erasures that wait.
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

    @Test func `the age of the oldest waiting erasure is a metric`() async throws {
        try await OpsFixture.run { fixture in
            let metrics = Metrics()
            let gauge = LagGauge(
                queries: LogQueries(pool: fixture.pool, partitions: OpsFixture.partitions), metrics: metrics,
                retentionDays: 30)
            var named: Set<String> = []
            try await fixture.sql(
                """
                INSERT INTO bus.erasures (partition, key, log_offset, requested_at, erased_at)
                VALUES (0, 'device:done', 1, now() - interval '9 hours', now())
                """)
            await gauge.note(&named)
            #expect(metrics.text.contains("\ndormouse_erasure_age_seconds 0\n"))
            try await fixture.sql(
                """
                INSERT INTO bus.erasures (partition, key, log_offset, requested_at)
                VALUES (0, 'device:new', 2, now()), (0, 'device:old', 3, now() - interval '2 hours')
                """)
            await gauge.note(&named)
            let found = try #require(metrics.text.firstMatch(of: #/\ndormouse_erasure_age_seconds (\S+)/#))
            #expect(try #require(Double(found.1)) >= 7200)
        }
    }
}
