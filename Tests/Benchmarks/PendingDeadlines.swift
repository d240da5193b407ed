import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Timeline

/// Measures a million devices with a deadline each: the cost of waiting, and the rate at which deadlines fire.
struct PendingDeadlines {
    let count: Int
    let seconds: Int

    func run() async throws {
        Report.heading("\(count) pending deadlines")
        let fixture = try await CounterBench()
        let count = count, seconds = seconds
        let due = Instant(milliseconds: 1_900_000_000_000)
        try await fixture.freeze(at: due - .milliseconds(3_600_000))
        try await fill(fixture) { _ in due }
        try await fixture.running { _ in
            try await Task.sleep(for: .seconds(2))
            let cpu = ThisProcess.processorSeconds
            try await Task.sleep(for: .seconds(seconds))
            Report.figure("resident memory of the process", ThisProcess.residentBytes / 1_048_576, "MB")
            Report.figure(
                "processor while idle", 100 * (ThisProcess.processorSeconds - cpu) / Double(seconds), "% of one")
            let before = try await fixture.events()
            try await fixture.freeze(at: due)
            let begun = ContinuousClock.now
            var fired = 0
            while fired < count, begun.duration(to: .now) < .seconds(6 * seconds) {
                try await Task.sleep(for: .milliseconds(100))
                fired = try await fixture.events() - before
            }
            let took = begun.duration(to: .now) / .seconds(1)
            Report.figure("fired", Double(fired), "in \(Int(took)) s")
            Report.ratio("fired a second ÷ 20,000", Double(fired) / took / 20_000, reach: 1)
        }
    }

    /// Measures how late deadlines fire that fall due evenly, in real time.
    func runEvenly(perSecond rate: Int) async throws {
        Report.heading("\(count) deadlines that fall due at \(rate) a second")
        let fixture = try await CounterBench()
        let count = count
        // The states are stored before the first one is due.
        let start = Instant(milliseconds: Int64(wallMilliseconds()) + 60_000 + Int64(count / 20))
        try await fill(fixture) { start + .milliseconds(Int64($0 * 1000 / rate)) }
        try await fixture.running { _ in
            let end = start + .milliseconds(Int64(count * 1000 / rate))
            let wait = max(0, Double(start.milliseconds) - wallMilliseconds())
            Report.progress("the first one is due in \(Int(wait / 1000)) s, the last one \(count / rate) s later")
            try await Task.sleep(for: .milliseconds(wait))
            let cpu = ThisProcess.processorSeconds
            try await Task.sleep(for: .milliseconds(Double(end.milliseconds) - wallMilliseconds()))
            let used = ThisProcess.processorSeconds - cpu
            var fired = 0
            for _ in 0..<100 where fired < count {
                try await Task.sleep(for: .milliseconds(100))
                fired = try await fixture.events()
            }
            let (half, most, last) = try await fixture.pool.execute(Query(Self.lateness))[0].decode(
                (Double, Double, Double).self)
            Report.figure("fired", Double(fired), "")
            Report.figure("processor of the process", 100 * used / (Double(count) / Double(rate)), "% of one")
            Report.figure("lateness, p50", half, "ms")
            Report.bound("lateness, p99", most, "ms", limit: 100)
            Report.figure("lateness, greatest", last, "ms")
        }
    }

    /// From the time of a deadline to the insert of its event.
    private static let lateness = Statement(
        """
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY late), percentile_cont(0.99) WITHIN GROUP (ORDER BY late), max(late)
        FROM (SELECT 1000 * extract(epoch FROM appended_at - (data ->> 'due')::timestamptz)::float8 AS late
            FROM bus.events WHERE type = 'counter.ring.rung') AS l
        """)

    /// States as the runtime stores them after one `ring.set` each.
    private func fill(_ fixture: CounterBench, due: (Int) -> Instant) async throws {
        let insert = Statement(
            """
            INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT $1, k.key, k.state, $2, 0, 1, 0, k.due FROM unnest($3::text[], $4::bytea[], $5::int8[]) AS k (key, state, due)
            """)
        for part in stride(from: 0, to: count, by: 50_000) {
            var rows = [(keys: [String], states: [[UInt8]], due: [Int])](
                repeating: ([], [], []), count: CounterBench.partitions)
            for number in part..<min(part + 50_000, count) {
                let key = AggregateKey.device("d\(number)")
                let partition = key.partition(of: CounterBench.partitions)
                var state = Counter()
                state.ringAt = due(number)
                rows[partition].keys.append(key.description)
                rows[partition].states.append(state.binary)
                rows[partition].due.append(Int(due(number).milliseconds))
            }
            for (partition, rows) in rows.enumerated() {
                _ = try await fixture.pool.execute(
                    Query(
                        insert,
                        [
                            .int4(Int32(partition)), .int4(Int32(Counter.version)), .texts(rows.keys),
                            .byteas(rows.states), .ints(rows.due),
                        ], rowsExpected: rows.keys.count))
            }
        }
        try await fixture.cluster.sql("VACUUM ANALYZE counter.states", database: fixture.name)
    }
}
