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
        try await fill(fixture, due)
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
            Report.ratio("fired a second ÷ 10,000", Double(fired) / took / 10_000, reach: 1)
        }
    }

    /// States as the runtime stores them after one `ring.set` each.
    private func fill(_ fixture: CounterBench, _ due: Instant) async throws {
        var state = Counter()
        state.ringAt = due
        let insert = Statement(
            """
            INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT $1, k.key, $2, $3, 0, 1, 0, $4 FROM unnest($5::text[]) AS k (key)
            """)
        var keys = [[String]](repeating: [], count: CounterBench.partitions)
        for number in 0..<count {
            let key = AggregateKey.device("d\(number)")
            keys[key.partition(of: CounterBench.partitions)].append(key.description)
        }
        for (partition, keys) in keys.enumerated() {
            _ = try await fixture.pool.execute(
                Query(
                    insert,
                    [
                        .int4(Int32(partition)), .bytes(state.binary), .int4(Int32(Counter.version)),
                        .int(Int(due.milliseconds)), .texts(keys),
                    ], rowsExpected: keys.count))
        }
        try await fixture.cluster.sql("VACUUM ANALYZE counter.states", database: fixture.name)
    }
}
