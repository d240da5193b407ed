import Foundation
import Synchronization

/// What tells the suite's time: the moment by which machines decide.
///
/// Virtual or real, all code takes it from an injected clock; tokens, leases, rate limits and I/O time-outs use
/// ``RealClock`` always.
public protocol SuiteClock: Sendable {
    /// The moment now.
    var now: Instant { get }
}

/// The machine's own clock.
public struct RealClock: SuiteClock {
    public init() {}

    public var now: Instant { Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
}

/// A clock that stands still until it is told to move. For tests and in-memory simulation.
public final class ManualClock: SuiteClock {
    private let moment: Mutex<Instant>

    public init(_ start: Instant) { moment = Mutex(start) }

    public var now: Instant { moment.withLock { $0 } }

    /// Moves on; a clock never goes back, so an earlier moment changes nothing.
    public func advance(to instant: Instant) { moment.withLock { $0 = max($0, instant) } }
    public func advance(by interval: Interval) { moment.withLock { $0 = $0 + interval } }
}

/// How virtual time follows from real time: `virtual = virtualEpoch + (real − realEpoch) × rate`.
///
/// One row of the database holds it for the whole suite; see the log's clock.
public struct ClockSetting: Sendable, Equatable {
    public var isVirtual: Bool
    public var realEpoch: Instant
    public var virtualEpoch: Instant
    /// Virtual seconds in a real second; 0 is frozen.
    public var rate: Double

    public init(isVirtual: Bool, realEpoch: Instant, virtualEpoch: Instant, rate: Double) {
        self.isVirtual = isVirtual
        self.realEpoch = realEpoch
        self.virtualEpoch = virtualEpoch
        self.rate = rate
    }

    /// Real time.
    public static let real = ClockSetting(isVirtual: false, realEpoch: .epoch, virtualEpoch: .epoch, rate: 1)

    /// The suite's moment at a real moment.
    public func instant(atReal real: Instant) -> Instant {
        guard isVirtual else { return real }
        // If this clock is behind the one that set the epoch, time stands still until the epoch, as in SQL. Otherwise
        // it would go back by a multiple of the difference.
        let elapsed = Double(max(0, (real - realEpoch).milliseconds)) * rate
        return virtualEpoch + Interval(milliseconds: Int64(saturating: elapsed.rounded(.down)))
    }

    /// The real moment at which the suite's time reaches `instant`; nil while frozen.
    public func real(at instant: Instant) -> Instant? {
        guard isVirtual else { return instant }
        guard rate > 0 else { return instant <= virtualEpoch ? realEpoch : nil }
        let ahead = Double((instant - virtualEpoch).milliseconds) / rate
        return realEpoch + Interval(milliseconds: Int64(saturating: ahead.rounded(.up)))
    }
}
