import Foundation

/// A clock of the suite time, which is real or virtual. Machines decide by it.
///
/// All code uses an injected clock. Tokens, leases, rate limits and I/O timeouts always use ``RealClock``.
public protocol SuiteClock: Sendable {
    /// The current time.
    var now: Instant { get }
}

/// The clock of this machine.
public struct RealClock: SuiteClock {
    public init() {}

    public var now: Instant { Instant(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))) }
}

/// The relation of virtual time to real time: `virtual = virtualEpoch + (real − realEpoch) × rate`.
///
/// One row of the database, in `bus.clock`, holds it for the whole suite.
public struct ClockSetting: Sendable, Equatable {
    /// Whether the suite has virtual time.
    public var isVirtual: Bool
    /// The real time at which this setting began.
    public var realEpoch: Instant
    /// The virtual time at which this setting began.
    public var virtualEpoch: Instant
    /// Virtual seconds in a real second; 0 for a frozen clock.
    public var rate: Double

    public init(isVirtual: Bool, realEpoch: Instant, virtualEpoch: Instant, rate: Double) {
        self.isVirtual = isVirtual
        self.realEpoch = realEpoch
        self.virtualEpoch = virtualEpoch
        self.rate = rate
    }

    /// Real time.
    public static let real = ClockSetting(isVirtual: false, realEpoch: .epoch, virtualEpoch: .epoch, rate: 1)

    /// Returns the suite time at a real time.
    public func instant(atReal real: Instant) -> Instant {
        guard isVirtual else { return real }
        // If this clock is behind the one that set the epoch, time stops until the epoch, as in SQL. Otherwise it would
        // go back by a multiple of the difference.
        let elapsed = Double(max(0, (real - realEpoch).milliseconds)) * rate
        return virtualEpoch + Interval(milliseconds: Int64(saturating: elapsed.rounded(.down)))
    }

    /// Returns the real time at which the suite time reaches `instant`; nil if a frozen clock does not reach it.
    public func real(at instant: Instant) -> Instant? {
        guard isVirtual else { return instant }
        guard rate > 0 else { return instant <= virtualEpoch ? realEpoch : nil }
        let ahead = Double((instant - virtualEpoch).milliseconds) / rate
        return realEpoch + Interval(milliseconds: Int64(saturating: ahead.rounded(.up)))
    }
}
