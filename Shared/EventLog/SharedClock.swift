public import Postgres
import Synchronization
public import Timeline

/// What a transaction read of the suite's clock.
public struct ClockSample: Sendable {
    public let setting: ClockSetting
    /// Real time by the database's clock, when it was read.
    public let real: Instant
    /// When the reading was asked for, by this process.
    public let asked: ContinuousClock.Instant

    /// The suite's time when it was read.
    public var now: Instant { setting.instant(atReal: real) }

    public init(setting: ClockSetting, real: Instant, asked: ContinuousClock.Instant) {
        self.setting = setting
        self.real = real
        self.asked = asked
    }

    /// The sample in a row that begins as one of ``SharedClock/read`` does.
    ///
    /// - Parameter column: that of `clock_timestamp()`.
    public init(_ row: Row, realAt column: Int, asked: ContinuousClock.Instant) throws(PostgresError) {
        setting = ClockSetting(
            isVirtual: try row.bool(0), realEpoch: Instant(milliseconds: Int64(try row.int(1))),
            virtualEpoch: Instant(milliseconds: Int64(try row.int(2))), rate: try row.double(3))
        real = Instant(milliseconds: try row.timestampMilliseconds(column))
        self.asked = asked
    }
}

/// The suite's clock as this process last read it from the database: one row for all processes.
///
/// Decisions go by the database's clock: every batch reads it in its own transaction, and tells it here. In between, time runs
/// by this machine's clock, put right by what it differs from the database's. So replicas on machines whose clocks differ
/// decide the same.
public final class SharedClock: SuiteClock {
    /// A machine whose clock differs by more is told of.
    public static let toleratedSkew = Interval.seconds(1)

    private struct State {
        var setting: ClockSetting
        /// The database's time less this machine's.
        var skew = Interval.zero
        /// The newest sample: its time, and when it came.
        var newest: (real: Instant, taken: ContinuousClock.Instant)?
    }

    private let state: Mutex<State>
    private let real: any SuiteClock

    public init(_ setting: ClockSetting = .real, real: any SuiteClock = RealClock()) {
        state = Mutex(State(setting: setting))
        self.real = real
    }

    public var now: Instant {
        let (setting, skew) = state.withLock { ($0.setting, $0.skew) }
        return setting.instant(atReal: real.now + skew)
    }

    public var current: ClockSetting { state.withLock { $0.setting } }

    /// By how much the database's clock is ahead of this machine's; below zero where it is behind. It is as exact as the
    /// fastest answers of the database are short.
    public var skew: Interval { state.withLock { $0.skew } }

    /// Takes in what a transaction read. What was read before the newest known sample changes nothing, also where its answer
    /// comes later.
    public func take(_ sample: ClockSample) {
        let taken = ContinuousClock.now
        let received = real.now
        // The database read its clock between the question and the answer.
        let least = sample.real - received
        let most = least + Interval(milliseconds: (sample.asked.duration(to: taken) / .milliseconds(1)).whole + 1)
        state.withLock { state in
            if let newest = state.newest, sample.asked < newest.taken, sample.real < newest.real { return }
            state.newest = (sample.real, taken)
            state.setting = sample.setting
            state.skew = min(max(state.skew, least), most)
        }
    }

    /// Reads the clock's row.
    public static let read = Statement(
        "SELECT is_virtual, real_epoch, virtual_epoch, rate, clock_timestamp() FROM bus.clock")
}

extension Interval {
    /// Its length, whatever its direction.
    public var magnitude: Interval { self < .zero ? Interval.zero - self : self }
}

extension Double {
    fileprivate var whole: Int64 { Int64(exactly: rounded(.up)) ?? .max / 2 }
}
