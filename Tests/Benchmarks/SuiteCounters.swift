import Foundation
import Postgres
import TestSupport

/// The counters of a suite at one moment. The difference of two is the cost of the time between them.
struct SuiteCounters: Sendable {
    /// PostgreSQL shows the transactions of a session at most this long after their end.
    static let statisticsDelay = Duration.milliseconds(10_500)
    private static let origin = ContinuousClock.now
    private static let statement = Statement(
        """
        SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
            pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8, (SELECT sum(head)::int8 FROM bus.partitions)
        """)
    private static let lag = Statement(
        """
        SELECT c.consumer, sum(p.head - c.log_offset)::int8
        FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition) GROUP BY 1
        UNION ALL
        SELECT r.reader, sum(p.head - r.log_offset)::int8
        FROM bus.readers AS r JOIN bus.partitions AS p USING (partition) GROUP BY 1
        """)

    /// Seconds since the first reading.
    var seconds: Double
    /// By the name of the process.
    var usage: [String: ProcessUsage]
    var transactions: Int
    var walBytes: Int
    var events: Int

    static func read(_ suite: MeasuredSuite) async throws -> SuiteCounters {
        let rows = try await suite.pool.execute(Postgres.Query(statement))
        let (transactions, bytes, events) = try rows[0].decode((Int, Int, Int).self)
        return SuiteCounters(
            seconds: origin.duration(to: .now) / .seconds(1), usage: try suite.usage(), transactions: transactions,
            walBytes: bytes, events: events)
    }

    /// Returns the unread events of each follower of the log.
    static func lag(_ suite: MeasuredSuite) async throws -> [String: Int] {
        let rows = try await suite.pool.execute(Postgres.Query(lag))
        return Dictionary(uniqueKeysWithValues: try rows.decode((String, Int).self))
    }

    static func - (left: Self, right: Self) -> Self {
        SuiteCounters(
            seconds: left.seconds - right.seconds,
            usage: left.usage.merging(right.usage) { $0 - $1 },
            transactions: left.transactions - right.transactions, walBytes: left.walBytes - right.walBytes,
            events: left.events - right.events)
    }

    /// The cores that the services and PostgreSQL have used, without the load generator.
    var cores: Double {
        usage.filter { MeasuredSuite.services.contains($0.key) || $0.key == "PostgreSQL" }
            .values.reduce(0) { $0 + $1.processorSeconds } / seconds
    }

    /// Returns the processor time of a process in microseconds.
    func microseconds(_ process: String) -> Double { (usage[process]?.processorSeconds ?? .nan) * 1e6 }

    /// Returns the processor time of a process in percent of a core.
    func percent(_ process: String) -> Double { (usage[process]?.processorSeconds ?? .nan) / seconds * 100 }
}

/// The time until every follower of the log has read all of it.
struct CatchUp: Sendable {
    private static let limit = Duration.seconds(60)

    /// The unread events of each follower at the start.
    let lag: [String: Int]
    /// The seconds until a follower had read all. A follower that needs more than a minute is missing.
    let seconds: [String: Double]
    /// The number of queries, each of which is a transaction.
    let queries: Int

    static func wait(_ suite: MeasuredSuite) async throws -> CatchUp {
        let begin = ContinuousClock.now
        let first = try await SuiteCounters.lag(suite)
        var seconds = first.filter { $0.value == 0 }.mapValues { _ in 0.0 }
        var queries = 1
        while seconds.count < first.count, begin.duration(to: .now) < limit {
            // A tenth of the time is exact enough, and queries use the processors too.
            let pause = begin.duration(to: .now) / 10
            try await Task.sleep(for: min(max(pause, .milliseconds(5)), .milliseconds(500)))
            queries += 1
            for (follower, unread) in try await SuiteCounters.lag(suite) where unread == 0 && seconds[follower] == nil {
                seconds[follower] = begin.duration(to: .now) / .seconds(1)
            }
        }
        return CatchUp(lag: first, seconds: seconds, queries: queries)
    }
}
