import EventLog
import Foundation
import Logging
import Postgres
import Synchronization
import Testing
import TestSupport
import Timeline

@Suite("The shared clock", .tags(.database), .timeLimit(.minutes(2))) struct SharedClockTests {
    private let host = ManualClock(Instant(milliseconds: 1_000_000))

    private func sample(_ real: Int64, rate: Double = 1, asked: ContinuousClock.Instant = .now) -> ClockSample {
        let setting = ClockSetting(
            isVirtual: true, realEpoch: .epoch, virtualEpoch: Instant(milliseconds: real), rate: rate)
        return ClockSample(setting: setting, real: Instant(milliseconds: real), asked: asked)
    }

    @Test func `an older sample does not replace a newer one that arrived first`() {
        let clock = SharedClock(real: host)
        let asked = ContinuousClock.now
        clock.take(sample(1_000_005, rate: 2))
        clock.take(sample(1_000_003, rate: 1, asked: asked))
        #expect(clock.current.rate == 2)
    }

    @Test func `a sample that was requested later counts even if the database's clock went back`() {
        let clock = SharedClock(real: host)
        clock.take(sample(1_000_000, rate: 2))
        clock.take(sample(400_000, rate: 1))
        #expect(clock.current.rate == 1)
        #expect((clock.skew + .seconds(600)).magnitude < .seconds(60))
    }

    @Test func `the skew changes only as far as a sample proves`() {
        let clock = SharedClock(real: host)
        // The query took a minute, so the sample may be from any time within it.
        clock.take(sample(999_990, asked: .now - .seconds(60)))
        #expect(clock.skew == .zero)
        clock.take(sample(1_005_000))
        #expect(clock.skew == .milliseconds(5000))
        #expect(clock.now == clock.current.instant(atReal: host.now + .milliseconds(5000)))
        clock.take(sample(1_004_900, asked: .now - .seconds(1)))
        #expect(clock.skew == .milliseconds(5000))
    }

    @Test func `a clock that is behind the one that set the epoch does not go back`() {
        let setting = ClockSetting(
            isVirtual: true, realEpoch: Instant(milliseconds: 10_000), virtualEpoch: Instant(milliseconds: 500_000),
            rate: 100_000)
        #expect(setting.instant(atReal: Instant(milliseconds: 9950)) == setting.virtualEpoch)
        #expect(setting.instant(atReal: Instant(milliseconds: 10_001)).milliseconds == 600_000)
    }

    @Test func `a change of the setting is told, and the wait follows it`() {
        let clock = SharedClock(real: host)
        let changes = Tally()
        clock.follow { changes.add() }
        func take(rate: Double, virtual: Int64 = 1_000_000) {
            let setting = ClockSetting(
                isVirtual: true, realEpoch: host.now, virtualEpoch: Instant(milliseconds: virtual), rate: rate)
            clock.take(ClockSample(setting: setting, real: host.now, asked: .now))
        }
        let due = Instant(milliseconds: 1_060_000)
        #expect(clock.wait(until: due) == .seconds(60))
        take(rate: 60)
        #expect(changes.count == 1 && clock.wait(until: due) == .seconds(1))
        take(rate: 60)
        #expect(changes.count == 1)
        take(rate: 0)
        #expect(changes.count == 2 && clock.wait(until: due) == nil)
        take(rate: 0, virtual: 1_070_000)
        #expect(changes.count == 3 && clock.wait(until: due) == .zero)
    }

    @Test func `a database whose clock goes ahead is told, because deadlines are due earlier`() {
        let clock = SharedClock(ClockSetting.real, real: host)
        let changes = Tally()
        clock.follow { changes.add() }
        func take(ahead: Int64) {
            let real = host.now + .milliseconds(ahead)
            clock.take(ClockSample(setting: .real, real: real, asked: .now))
        }
        take(ahead: 5)
        #expect(changes.count == 0)
        // Small steps count together.
        take(ahead: 20)
        #expect(changes.count == 1)
        take(ahead: -2000)
        #expect(changes.count == 1)
        take(ahead: 0)
        #expect(changes.count == 2)
    }

    @Test func `the longest interval has a length`() {
        #expect(Interval(milliseconds: .min).magnitude == Interval(milliseconds: .max))
    }

    @Test func `a clock difference is logged once`() async throws {
        let fixture = try await OpsFixture()
        let lines = LogLines()
        let logger = Logger(label: "test") { _ in LineHandler(lines: lines) }
        let slow = ManualClock(RealClock().now - .hours(1))
        let clock = SharedClock(real: slow)
        let sender = WakeUpSender(pool: fixture.pool, sender: .init(), logger: fixture.logger)
        let updates = WakeUpReceiver(fixture.options, sender: sender, logger: fixture.logger)
        let follower = ClockFollower(
            clock, pool: fixture.pool, updates: updates, poll: .milliseconds(5), logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await follower.run() }
            try await eventually(describe: "the warning") { lines.count("differs") == 1 }
            slow.advance(to: RealClock().now)
            try await eventually(describe: "the clocks agree") {
                slow.advance(to: RealClock().now)
                return lines.count("agrees") == 1
            }
            #expect(lines.count("differs") == 1)
            group.cancelAll()
        }
    }
}

/// Collects the log messages.
private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    func append(_ line: String) { lines.withLock { $0.append(line) } }
    func count(_ word: String) -> Int { lines.withLock { $0.count { $0.contains(word) } } }
}

/// Forwards each message.
private struct LineHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(lines: LogLines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.append(event.message.description) }
}
