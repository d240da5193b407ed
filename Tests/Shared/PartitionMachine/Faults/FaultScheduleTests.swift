import Foundation
import TestSupport
import Testing

/// Random schedules of several processes and their faults, without a database.
///
/// With `FAULT_SCHEDULES`, the test runs this number of schedules, from a random seed that it prints, and prints its progress.
/// `DORMOUSE_SEED` runs one seed or a range.
///
/// The tests run one after another, because a long simulation leaves the others no processor.
@Suite(.serialized) struct FaultScheduleTests {
    private static let moves = 150

    @Test func `no fault loses, repeats or reorders work`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let asked = environment["FAULT_SCHEDULES"].flatMap { Int($0) }
        let first = asked == nil ? 1 : UInt64.random(in: 0...UInt64.max / 2)
        let chosen = seeds(from: first, count: asked ?? 400, asked: environment["DORMOUSE_SEED"])
        print("\(chosen.count) schedules from seed \(chosen[0])")
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            let threads = max(1, ProcessInfo.processInfo.activeProcessorCount)
            let step = max(1, chosen.count / threads / 20)
            for thread in 0..<threads {
                group.addTask {
                    for (done, index) in stride(from: thread, to: chosen.count, by: threads).enumerated() {
                        // The first failure cancels the other threads.
                        try Task.checkCancellation()
                        if asked != nil, thread == 0, done > 0, done % step == 0 {
                            Self.report(done * threads, since: start)
                        }
                        try Self.run(chosen[index])
                    }
                }
            }
            for try await _ in group {}
        }
        Self.report(chosen.count, since: start)
    }

    private static func report(_ schedules: Int, since start: ContinuousClock.Instant) {
        let seconds = start.duration(to: .now) / .seconds(1)
        print("\(schedules) schedules after \(Int(seconds)) s, \(Int(Double(schedules) / seconds)) a second")
    }

    /// Seeds of faults that were found once:
    ///
    /// - Commands that kept coming widened the batches of the log, so that no input at fault was ever alone.
    /// - A batch whose commands all had derived origins counted as not committed after the batch of another process.
    ///   Clients were told that nothing had changed.
    @Test(arguments: [3_287_998_917_627_199_681, 1_807_346_738_332_445_629] as [UInt64])
    func `a kept seed finds nothing`(seed: UInt64) throws {
        try Self.run(seed)
    }

    /// For each guard, a seed that finds its absence. After a change of the simulation, take the first one that
    /// `a missing guard is found` prints.
    ///
    /// A model of one partition can't show all faults. Others have tests with a database: a client that stops in the
    /// middle of a pipeline (`BlockerTests`), a long fold of an old state (`RefoldTests`), waits for locks (`SharingTests`,
    /// `LockPatienceTests`), a process without progress (`WatchdogTests`), and clocks of hosts (`ClockSkewTests`).
    @Test(arguments: Guard.allCases)
    func `a kept seed finds a missing guard, and nothing with it`(without: Guard) throws {
        let seed = try #require(Self.kept[without])
        var schedule = FaultSchedule(seed: seed, without: without)
        #expect(throws: Violation.self) { try schedule.run(moves: Self.moves) }
        try Self.run(seed)
    }

    private static let kept: [Guard: UInt64] = [
        .epoch: 34, .lastBatch: 2, .probe: 67, .baseVersion: 17, .assumption: 402, .headLock: 2, .deletedRecords: 41,
        .unreadableEvents: 2, .futureLeases: 23, .dividedBatches: 4, .certainFailures: 1329, .derivedOrigins: 453,
        .unprovenBatches: 517,
    ]

    @Test(.timeLimit(.minutes(1)), arguments: Guard.allCases) func `a missing guard is found`(without: Guard) throws {
        let found = (1...20_000 as ClosedRange<UInt64>).first { seed in
            var schedule = FaultSchedule(seed: seed, without: without)
            do { try schedule.run(moves: Self.moves) } catch {
                print("without \(without.rawValue), seed \(seed): \(error)")
                return true
            }
            return false
        }
        #expect(found != nil)
    }

    private static func run(_ seed: UInt64) throws {
        do {
            var schedule = FaultSchedule(seed: seed)
            try schedule.run(moves: moves)
        } catch {
            throw PropertyFailed(seed: seed, reason: error)
        }
    }
}
