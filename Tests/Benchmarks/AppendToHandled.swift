import Contracts
import EventLog
import Foundation
import Postgres
import Runtime
import TestSupport

/// Measures the time from another service's append to the append that follows from it, at 5,000 events a second.
///
/// Each event makes the counter append one event. The database takes both times.
struct AppendToHandled {
    let seconds: Int
    private let batch = 50

    func run() async throws {
        Report.heading("Append to handled, 5,000 events a second")
        let fixture = try await CounterBench()
        let seconds = seconds, batch = batch
        try await fixture.running { _ in
            var devices = [[String]](repeating: [], count: CounterBench.partitions)
            for number in 0..<3200 {
                let key = AggregateKey.device("d\(number)")
                devices[key.partition(of: CounterBench.partitions)].append(key.description)
            }
            let connection = try await Connection.open(fixture.options, logger: fixture.logger)
            let begun = ContinuousClock.now
            for round in 0..<seconds * 100 {
                try await Task.sleep(until: begun + .milliseconds(round * 10))
                let partition = round % CounterBench.partitions
                let keys = (0..<batch).map { devices[partition][(round / 16 * batch + $0) % devices[partition].count] }
                _ = try await connection.execute([
                    Query(
                        Self.append, [.int4(Int32(partition)), .texts(keys), .int(keys.count)], rowsExpected: keys.count
                    ),
                    Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:\(partition)")]),
                ])
            }
            let took = begun.duration(to: .now) / .seconds(1)
            let sent = seconds * 100 * batch
            while try await handled(fixture) < sent { try await Task.sleep(for: .milliseconds(50)) }
            await connection.close()
            let (half, most) = try await fixture.pool.execute(Query(Self.percentiles))[0].decode((Double, Double).self)
            Report.figure("events appended", Double(sent) / took, "per second")
            Report.bound("append to handled, p50", half, "ms", limit: 5)
            Report.bound("append to handled, p99", most, "ms", limit: 25)
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
            (extract(epoch FROM clock_timestamp()) * 1000)::int8, gen_random_uuid(), '{}'
        FROM moved, unnest($2::text[]) WITH ORDINALITY AS e (key, n)
        """)

    private static let percentiles = Statement(
        """
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY took), percentile_cont(0.99) WITHIN GROUP (ORDER BY took)
        FROM (SELECT 1000 * extract(epoch FROM h.appended_at - p.appended_at)::float8 AS took
            FROM bus.events AS p JOIN bus.events AS h ON h.causationid = p.id
            WHERE p.type = 'other.thing.pinged' AND h.type = 'counter.ping.counted') AS t
        """)
}
