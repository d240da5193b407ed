import Contracts
import EventLog
import Foundation
import Glibc
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Timeline

/// A million devices that each wait for a moment: what waiting costs, and how fast they fire when it comes.
struct PendingDeadlines {
    let count: Int
    let seconds: Int

    func run() async throws {
        Report.heading("\(count) pending deadlines")
        let bench = try await CounterBench()
        let count = count, seconds = seconds
        let due = Instant(milliseconds: 1_900_000_000_000)
        try await freeze(bench, at: due - .milliseconds(3_600_000))
        try await fill(bench, due)
        try await bench.running { _ in
            try await Task.sleep(for: .seconds(2))
            let cpu = processorSeconds()
            try await Task.sleep(for: .seconds(seconds))
            Report.figure("resident memory of the process", residentMegabytes(), "MB")
            Report.figure("processor while idle", 100 * (processorSeconds() - cpu) / Double(seconds), "% of one")
            let before = try await bench.events()
            try await freeze(bench, at: due)
            let begun = ContinuousClock.now
            var fired = 0
            while fired < count, begun.duration(to: .now) < .seconds(6 * seconds) {
                try await Task.sleep(for: .milliseconds(100))
                fired = try await bench.events() - before
            }
            let took = begun.duration(to: .now) / .seconds(1)
            Report.figure("fired", Double(fired), "in \(Int(took)) s")
            Report.ratio("fired a second ÷ 10,000", Double(fired) / took / 10_000, reach: 1)
        }
    }

    private func freeze(_ bench: CounterBench, at moment: Instant) async throws {
        _ = try await bench.pool.run(
            Call(
                Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = $1, real_epoch = 0"),
                [.int(Int(moment.milliseconds))]))
    }

    /// States as the runtime would have stored them: each has heard one `ring.set`.
    private func fill(_ bench: CounterBench, _ due: Instant) async throws {
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
            _ = try await bench.pool.run(
                Call(
                    insert,
                    [
                        .int4(Int32(partition)), .bytes(state.binary), .int4(Int32(Counter.version)),
                        .int(Int(due.milliseconds)), .texts(keys),
                    ], rowsExpected: keys.count))
        }
        try await bench.cluster.sql("VACUUM ANALYZE counter.states", database: bench.name)
    }

    private func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(numericCast(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private func residentMegabytes() -> Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? .nan
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
    }
}
