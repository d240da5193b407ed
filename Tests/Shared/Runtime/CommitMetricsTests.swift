import EventLog
import Postgres
import Runtime
import ServiceLifecycle
import Telemetry
import TestSupport
import Testing
import Timeline

/// The metrics of commits.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct CommitMetricsTests {
    @Test func `commits, their events and their failures are counted`() async throws {
        let fixture = try await RuntimeFixture()
        let options = try ConnectionOptions(url: fixture.url)
        let (pool, metrics) = (ConnectionPool(options, size: 4, logger: fixture.logger), Metrics())
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: fixture.partitions, clock: SharedClock(), policy: (),
            metrics: metrics, logger: fixture.logger)
        let group = ServiceGroup(services: [runtime], logger: fixture.logger)
        try await group.run {
            for amount in 1...3 { _ = try await runtime.submit(.add(amount, to: "a")) }
            #expect(value("dormouse_events_written_total", metrics) == 3)
            #expect(value("dormouse_commits_failed_total", metrics) == 0)
            let commits = try #require(value("dormouse_commit_duration_seconds_count", metrics))
            #expect(commits >= 3 && value("dormouse_commit_duration_seconds_sum", metrics) ?? 0 > 0)
            try await fixture.cluster.sql(
                "ALTER TABLE counter.states ADD CONSTRAINT refused CHECK (key = '') NOT VALID",
                database: fixture.database)
            await #expect(throws: RuntimeError.self) { try await runtime.submit(.add(1, to: "a")) }
            #expect(value("dormouse_commits_failed_total", metrics) ?? 0 > 0)
            #expect(value("dormouse_events_written_total", metrics) == 3)
        }
        await pool.close()
        await fixture.pool.close()
    }

    private func value(_ name: String, _ metrics: Metrics) -> Double? {
        let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) }
    }
}
