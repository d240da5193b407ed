import MachineTesting
import Testing

@testable import Runtime

/// The waits for rows that other sessions have locked.
@Suite struct LockPatienceTests {
    /// Plays a round of renewals in virtual time.
    ///
    /// - Parameter holds: the time for which each row stays locked, from the beginning of its wait.
    /// - Returns: the renewed partitions, and the time of all waits.
    private func round(
        _ patience: inout LockPatience, _ holds: [Int: Duration]
    ) -> (renewed: Set<Int>, time: Duration) {
        let begun = ContinuousClock.now
        var now = begun
        patience.begin(LockPatience.renewals, now: now)
        var waiting = patience.sorted(holds.keys)
        var renewed: Set<Int> = []
        while let partition = waiting.first, let limit = patience.limit(for: partition, now: now) {
            waiting.removeFirst()
            let hold = holds[partition] ?? .zero
            now += min(hold, limit)
            if hold > limit {
                patience.waitedInVain(for: partition, limit)
                waiting.append(partition)
            } else {
                patience.succeeded(partition)
                renewed.insert(partition)
            }
        }
        return (renewed, begun.duration(to: now))
    }

    private func locked(_ partitions: Range<Int>, for time: Duration = .seconds(60)) -> [Int: Duration] {
        Dictionary(uniqueKeysWithValues: partitions.map { ($0, time) })
    }

    @Test func `rows of batches are reached in each round, beside rows that stay locked`() {
        var patience = LockPatience()
        let holds = locked(0..<6).merging(locked(6..<16, for: .milliseconds(10))) { $1 }
        for _ in 0..<20 {
            let result = round(&patience, holds)
            #expect(result.renewed == Set(6..<16))
            #expect(result.time <= LockPatience.renewals)
        }
    }

    @Test func `a row that is locked for longer than a short wait gets a long one in the same round`() {
        var patience = LockPatience()
        #expect(round(&patience, [0: .milliseconds(400)]).renewed == [0])
    }

    @Test(arguments: [2, 4, 7, 16]) func `rows that stay locked get long waits in turn`(count: Int) {
        var patience = LockPatience()
        _ = round(&patience, locked(0..<count))
        for partition in 0..<count {
            var holds = locked(0..<count)
            holds[partition] = .milliseconds(250)
            let isReached = (0..<2 * count).contains { _ in round(&patience, holds).renewed == [partition] }
            #expect(isReached, "partition \(partition)")
        }
    }

    /// A round has no time for all of them.
    @Test func `rows that are locked for almost a short wait are renewed in turn`() {
        var patience = LockPatience()
        let holds = locked(0..<40, for: .milliseconds(45))
        var renewed: Set<Int> = []
        for _ in 0..<4 { renewed.formUnion(round(&patience, holds).renewed) }
        #expect(renewed == Set(0..<40))
    }

    /// PostgreSQL takes a limit of 0 for none.
    @Test func `each wait has a limit of whole milliseconds, and the end of the round`() {
        var patience = LockPatience()
        let now = ContinuousClock.now
        patience.begin(.microseconds(999), now: now)
        #expect(patience.limit(for: 0, now: now) == nil)
        patience.begin(.milliseconds(1), now: now)
        #expect(patience.limit(for: 0, now: now)?.setting == "1ms")
        patience.begin(.seconds(9), now: now)
        #expect(patience.limit(for: 0, now: now)?.setting == "50ms")
        #expect(patience.limit(for: 0, isLong: true, now: now)?.setting == "500ms")
        #expect(patience.limit(for: 0, now: now + .seconds(9)) == nil)
    }

    /// A lease may be renewed first in a round and last in the next one.
    @Test func `two rounds are shorter than the term of a lease`() {
        let pause = LeaseKeeper<Counter>.pause
        let longest = LockPatience.renewals * 2 + LockPatience.changes + pause
        #expect(longest < .seconds(LeaseKeeper<Counter>.term))
    }
}
