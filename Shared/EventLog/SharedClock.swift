public import Postgres
import Synchronization
public import Timeline

/// A reading of the suite's clock in a transaction.
public struct ClockSample: Sendable {
    /// The setting of the clock.
    public let setting: ClockSetting
    /// Real time by the database's clock at the reading.
    public let real: Instant
    /// The time at which this process sent the query.
    public let asked: ContinuousClock.Instant

    /// The suite time at the reading.
    public var now: Instant { setting.instant(atReal: real) }

    public init(setting: ClockSetting, real: Instant, asked: ContinuousClock.Instant) {
        self.setting = setting
        self.real = real
        self.asked = asked
    }

    /// Reads the sample from a row that begins with the columns of ``SharedClock/read``.
    ///
    /// - Parameter column: the index of `clock_timestamp()`.
    public init(_ row: Row, realAt column: Int, asked: ContinuousClock.Instant) throws(PostgresError) {
        let (isVirtual, realEpoch, virtualEpoch, rate) = try row.decode((Bool, Instant, Instant, Double).self, at: 0)
        setting = ClockSetting(isVirtual: isVirtual, realEpoch: realEpoch, virtualEpoch: virtualEpoch, rate: rate)
        real = try row.decode(Instant.self, at: column)
        self.asked = asked
    }
}

/// The suite's clock as this process last read it from the database: one row for all processes.
///
/// It uses the database's clock, so that replicas with different clocks make the same decisions. Every batch reads that clock in
/// its own transaction and adds the sample here. Between samples, time follows this machine's clock, corrected by the
/// skew.
public final class SharedClock: SuiteClock {
    /// The clock skew from which the service logs a warning.
    public static let toleratedSkew = Interval.seconds(1)
    /// The followers are told when the skew has grown by this much, because a deadline is then due earlier.
    static let toldSkew = Interval.milliseconds(10)

    private struct State {
        var setting: ClockSetting
        /// The database's time minus this machine's.
        var skew = Interval.zero
        /// The skew of which the followers know.
        var told = Interval.zero
        /// The newest sample: the database's time, and when it arrived.
        var newest: (real: Instant, taken: ContinuousClock.Instant)?
    }

    private let state: Mutex<State>
    private let followers = Mutex<[@Sendable () -> Void]>([])
    private let real: any SuiteClock

    public init(_ setting: ClockSetting = .real, real: any SuiteClock = RealClock()) {
        state = Mutex(State(setting: setting))
        self.real = real
    }

    public var now: Instant {
        let (setting, skew) = state.withLock { ($0.setting, $0.skew) }
        return setting.instant(atReal: real.now + skew)
    }

    /// An estimate of the clock of the database at this moment.
    public var estimate: ClockSample {
        let (setting, skew) = state.withLock { ($0.setting, $0.skew) }
        return ClockSample(setting: setting, real: real.now + skew, asked: .now)
    }

    /// The newest setting.
    public var current: ClockSetting { state.withLock { $0.setting } }

    /// The database's time minus this machine's; negative if the database is behind. The shorter the round
    /// trips of the samples, the more exact it is.
    public var skew: Interval { state.withLock { $0.skew } }

    /// Calls `follower` from now on after each change by which a deadline may be due earlier: of the setting, or of the
    /// skew.
    public func follow(_ follower: @escaping @Sendable () -> Void) { followers.withLock { $0.append(follower) } }

    /// Returns the real time until the suite time reaches an instant, by the newest setting: zero or less if it has
    /// reached it, nil if a frozen clock does not reach it.
    public func wait(until instant: Instant) -> Interval? {
        let (setting, skew) = state.withLock { ($0.setting, $0.skew) }
        return setting.real(at: instant).map { $0 - (real.now + skew) }
    }

    /// Adds a sample. It ignores a sample older than the newest known one, even if it arrives later.
    public func take(_ sample: ClockSample) {
        let taken = ContinuousClock.now
        let received = real.now
        // The database read its clock between the query and the answer.
        let least = sample.real - received
        let most = least + Interval(milliseconds: (sample.asked.duration(to: taken) / .milliseconds(1)).whole + 1)
        let hasChanged = state.withLock { state in
            if let newest = state.newest, sample.asked < newest.taken, sample.real < newest.real { return false }
            let former = state.setting
            state.newest = (sample.real, taken)
            state.setting = sample.setting
            state.skew = min(max(state.skew, least), most)
            // A sleep until a deadline may end late by less than `toldSkew`, and it may end early: it is then planned again.
            guard sample.setting != former || state.skew - state.told >= Self.toldSkew else {
                state.told = min(state.told, state.skew)
                return false
            }
            state.told = state.skew
            return true
        }
        guard hasChanged else { return }
        for follower in followers.withLock({ $0 }) { follower() }
    }

    /// Reads the clock's row.
    public static let read = Statement(
        "SELECT is_virtual, real_epoch, virtual_epoch, rate, clock_timestamp() FROM bus.clock")
}

extension Interval {
    /// The absolute length.
    public var magnitude: Interval { self < .zero ? Interval.zero - self : self }
}

extension Double {
    fileprivate var whole: Int64 { Int64(exactly: rounded(.up)) ?? .max / 2 }
}
