import Contracts
import EventLog
import Foundation
import Postgres
import Runtime
import TestSupport

/// Measures the time from another service's append to the append that follows from it.
///
/// Each event makes the counter append one event.
struct AppendToHandled {
    let pace: Pace

    /// The milliseconds until the event that follows is inserted.
    struct Times {
        /// Since the event was inserted. The database takes both times.
        let inserted: [Double]
        /// Since the client has sent the append.
        let sent: [Double]
        /// The events that the client appended in a second.
        let rate: Double
    }

    func run() async throws {
        Report.heading("Append to handled, \(pace.rate) events a second")
        let times = try await measure()
        let sorted = times.inserted.sorted()
        Report.figure("events appended", times.rate, "per second")
        Report.bound("append to handled, p50", Benchmarks.percentile(of: sorted, 0.5), "ms", limit: 3)
        Report.bound("append to handled, p99", Benchmarks.percentile(of: sorted, 0.99), "ms", limit: 12)
    }

    func measure() async throws -> Times {
        let fixture = try await CounterBench()
        let pace = pace
        return try await fixture.running { _ in
            var devices = [[String]](repeating: [], count: CounterBench.partitions)
            for number in 0..<3200 {
                let key = AggregateKey.device("d\(number)")
                devices[key.partition(of: CounterBench.partitions)].append(key.description)
            }
            let connection = try await Connection.open(fixture.options, logger: fixture.logger)
            let begun = ContinuousClock.now
            for round in 0..<pace.rounds {
                try await pace.wait(for: round, since: begun)
                let partition = round % CounterBench.partitions
                let keys = (0..<pace.batch).map {
                    devices[partition][(round / 16 * pace.batch + $0) % devices[partition].count]
                }
                _ = try await connection.execute([
                    Query(
                        Self.append,
                        [
                            .int4(Int32(partition)), .texts(keys), .int(keys.count),
                            .text(#"{"sentAt":\#(wallMilliseconds())}"#),
                        ], rowsExpected: keys.count),
                    Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:\(partition)")]),
                ])
            }
            let took = begun.duration(to: .now) / .seconds(1)
            while try await handled(fixture) < pace.total { try await Task.sleep(for: .milliseconds(50)) }
            await connection.close()
            let rows = try await fixture.pool.execute(Query(Self.times)).decode((Double, Double).self)
            return Times(inserted: rows.map(\.0), sent: rows.map(\.1), rate: Double(pace.total) / took)
        }
    }

    private func handled(_ fixture: CounterBench) async throws -> Int {
        try await fixture.pool.execute(
            Query(Statement("SELECT count(*) FROM bus.events WHERE type = 'counter.ping.counted'")))[0].decode(Int.self)
    }

    private static let append = Statement(
        """
        WITH moved AS (
            UPDATE bus.partitions SET head = head + $3, day = greatest(day, current_date) WHERE partition = $1
            RETURNING head, day)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
        SELECT $1, moved.head - $3 + e.n, moved.day, gen_random_uuid(), 'other', 'other.thing.pinged', 1, e.key,
            (extract(epoch FROM clock_timestamp()) * 1000)::int8, gen_random_uuid(), $4::json
        FROM moved, unnest($2::text[]) WITH ORDINALITY AS e (key, n)
        """)

    private static let times = Statement(
        """
        SELECT 1000 * extract(epoch FROM h.appended_at - p.appended_at)::float8,
            1000 * extract(epoch FROM h.appended_at)::float8 - (p.data ->> 'sentAt')::float8
        FROM bus.events AS p JOIN bus.events AS h ON h.causationid = p.id
        WHERE p.type = 'other.thing.pinged' AND h.type = 'counter.ping.counted'
        """)
}
