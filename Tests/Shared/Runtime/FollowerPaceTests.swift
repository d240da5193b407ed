import Testing

@testable import EventLog
@testable import Runtime

/// The interval between two batches that read the log without commands.
@Suite struct FollowerPaceTests {
    private let now = ContinuousClock.now

    @Test func `short batches start at the shortest interval`() {
        let pace = FollowerPace()
        #expect(pace.interval(at: now) == .milliseconds(3))
        for _ in 1...50 { pace.batchTook(.microseconds(500), wait: nil) }
        #expect(pace.interval(at: now) == .milliseconds(3))
    }

    @Test func `the interval grows with the time of a batch, up to the longest one`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(5), wait: nil) }
        #expect((.milliseconds(19)...(.milliseconds(20))).contains(pace.interval(at: now)))
        for _ in 1...100 { pace.batchTook(.seconds(1), wait: nil) }
        #expect(pace.interval(at: now) == .milliseconds(50))
    }

    @Test func `one slow batch changes the interval by a quarter only`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(1), wait: nil) }
        pace.batchTook(.milliseconds(9), wait: nil)
        #expect((.milliseconds(11)...(.milliseconds(12))).contains(pace.interval(at: now)))
    }

    @Test(arguments: [(0.0, 3), (0.6, 3), (0.675, 10), (0.75, 20), (1.0, 20)])
    func `the time of a batch counts as far as threads wait for processors`(_ wait: Double, _ milliseconds: Int) {
        let pace = FollowerPace()
        for _ in 1...200 { pace.batchTook(.milliseconds(5), wait: wait) }
        let interval = pace.interval(at: now) / .milliseconds(1)
        #expect(abs(interval - Double(milliseconds)) < 0.1)
    }

    @Test func `a hurry lets batches start at once, for a while`() {
        let pace = FollowerPace()
        for _ in 1...100 { pace.batchTook(.milliseconds(5), wait: nil) }
        pace.hurry(at: now, for: .milliseconds(250))
        pace.hurry(at: now, for: .milliseconds(20))
        #expect(pace.isHurried(at: now) && pace.interval(at: now) == .zero)
        let later = now + .milliseconds(250)
        #expect(!pace.isHurried(at: later) && pace.interval(at: later) > .milliseconds(3))
    }
}

/// The waiting of threads for a processor.
@Suite struct ProcessorWaitTests {
    @Test func `the times of all threads are read`() throws {
        let first = try #require(ProcessorWait.read())
        var sum = 0.0
        let end = ContinuousClock.now + .milliseconds(20)
        while ContinuousClock.now < end { sum += 1 }
        let last = try #require(ProcessorWait.read())
        #expect(sum > 0 && first.ran > 0 && last.ran + last.waited > first.ran + first.waited)
    }

    @Test func `a share is from 0 to 1`() throws {
        let wait = ProcessorWait()
        let share = try #require(wait.share(at: .now))
        #expect((0...1).contains(share))
        #expect(wait.share(at: .now) == share, "it is read at most ten times a second")
    }

    @Test func `the text of the system is read`() {
        #expect(ProcessorWait.times(in: "1500 700 3\n") == .init(ran: 1500, waited: 700))
        for text in ["", "1500\n", "a b c", "1500 700"] { #expect(ProcessorWait.times(in: text) == nil) }
    }
}

/// The interval between two wake-ups of other processes.
@Suite struct WakeUpPauseTests {
    @Test(arguments: [(0, 10), (1, 10), (4, 16), (9, 36), (10, 40), (500, 40)])
    func `the pause between two wake-ups grows with the time of sending`(_ took: Int, _ pause: Int) {
        #expect(WakeUpSender.pause(after: .milliseconds(took)) == .milliseconds(pause))
    }
}
