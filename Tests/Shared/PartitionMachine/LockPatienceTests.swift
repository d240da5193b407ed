import MachineTesting
import Testing

@testable import Runtime

/// The waits for rows that other sessions have locked.
@Suite struct LockPatienceTests {
    /// Plays a round of renewals.
    ///
    /// - Parameter holds: the time for which each row stays locked.
    /// - Returns: the renewed partitions, and the time of all waits.
    private func round(
        _ patience: inout LockPatience, _ holds: [Int: Duration]
    ) -> (renewed: Set<Int>, time: Duration) {
        patience.begin(LockPatience.renewals)
        var waiting = patience.sorted(holds.keys)
        var (renewed, time): (Set<Int>, Duration) = ([], .zero)
        while let partition = waiting.first, let limit = patience.limit(for: partition), let hold = holds[partition] {
            waiting.removeFirst()
            let isInVain = hold > limit
            patience.waited(for: partition, min(hold, limit), inVain: isInVain)
            time += min(hold, limit)
            if isInVain { waiting.append(partition) } else { renewed.insert(partition) }
        }
        return (renewed, time)
    }

    @Test func `rows of batches are reached in each round, beside rows that stay locked`() {
        var holds = Dictionary(uniqueKeysWithValues: (0..<6).map { ($0, Duration.seconds(60)) })
        for partition in 6..<16 { holds[partition] = .milliseconds(10) }
        var patience = LockPatience()
        for _ in 0..<20 {
            let result = round(&patience, holds)
            #expect(result.renewed == Set(6..<16))
            #expect(result.time <= LockPatience.renewals)
        }
    }

    @Test func `a row that is locked for longer than a short wait gets a long one in the same round`() {
        var patience = LockPatience()
        #expect(round(&patience, [0: .milliseconds(400)]).renewed == [0])
        #expect(!patience.wasInVain(0))
    }

    @Test func `rows that stay locked get their long waits in turn`() {
        var patience = LockPatience()
        let locked = Dictionary(uniqueKeysWithValues: (0..<4).map { ($0, Duration.seconds(60)) })
        _ = round(&patience, locked)
        for partition in 0..<4 {
            var holds = locked
            holds[partition] = .milliseconds(400)
            let isReached = (0..<4).contains { _ in round(&patience, holds).renewed == [partition] }
            #expect(isReached, "partition \(partition)")
        }
    }

    @Test func `a wait that the end of a round cuts short is no turn`() {
        var patience = LockPatience()
        patience.begin(LockPatience.short - .milliseconds(1))
        #expect(patience.limit(for: 0)?.setting == "49ms")
        patience.waited(for: 0, .milliseconds(49), inVain: true)
        #expect(!patience.wasInVain(0))
        #expect(patience.limit(for: 0) == nil)
        patience.begin(LockPatience.short)
        patience.waited(for: 0, LockPatience.short, inVain: true)
        #expect(patience.wasInVain(0))
    }

    /// PostgreSQL takes a limit of 0 for none.
    @Test func `a round ends before a lease expires, and each wait has a limit`() {
        var patience = LockPatience()
        #expect(patience.limit(for: 0) == nil)
        patience.begin(.microseconds(999))
        #expect(patience.limit(for: 0) == nil)
        patience.begin(.milliseconds(1))
        #expect(patience.limit(for: 0)?.setting == "1ms")
        let pause = LeaseKeeper<Counter>.pause
        #expect(LockPatience.renewals + LockPatience.changes + pause < .seconds(LeaseKeeper<Counter>.term))
    }
}
