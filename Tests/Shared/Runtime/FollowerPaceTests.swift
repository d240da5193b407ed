import Testing

@testable import EventLog
@testable import Runtime

/// The interval between two batches that read the log without commands.
@Suite struct FollowerPaceTests {
    private let now = ContinuousClock.now

    @Test func `short batches start at the shortest interval`() {
        let pace = FollowerPace()
        #expect(pace.interval(at: now) == .milliseconds(3))
        for _ in 1...50 { pace.batchTook(.microseconds(500)) }
        #expect(pace.interval(at: now) == .milliseconds(3))
    }

    @Test func `the interval grows with the time of a batch, up to the longest one`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(5)) }
        #expect((.milliseconds(19)...(.milliseconds(20))).contains(pace.interval(at: now)))
        for _ in 1...100 { pace.batchTook(.seconds(1)) }
        #expect(pace.interval(at: now) == .milliseconds(50))
    }

    @Test func `one slow batch changes the interval by a quarter only`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(1)) }
        pace.batchTook(.milliseconds(9))
        #expect((.milliseconds(11)...(.milliseconds(12))).contains(pace.interval(at: now)))
    }

    @Test func `a hurry lets batches start at once, for a while`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(5)) }
        pace.hurry(at: now, for: .milliseconds(250))
        pace.hurry(at: now, for: .milliseconds(20))
        #expect(pace.isHurried(at: now) && pace.interval(at: now) == .zero)
        let later = now + .milliseconds(250)
        #expect(!pace.isHurried(at: later) && pace.interval(at: later) > .milliseconds(3))
    }
}

/// The interval between two wake-ups of other processes.
@Suite struct WakeUpPauseTests {
    @Test(arguments: [(0, 10), (1, 10), (4, 16), (9, 36), (10, 40), (500, 40)])
    func `the pause between two wake-ups grows with the time of sending`(_ took: Int, _ pause: Int) {
        #expect(WakeUpSender.pause(after: .milliseconds(took)) == .milliseconds(pause))
    }
}
