import Synchronization
public import Timeline

/// A clock that moves only on demand.
public final class ManualClock: SuiteClock {
    private let moment: Mutex<Instant>

    public init(_ start: Instant) { moment = Mutex(start) }

    public var now: Instant { moment.withLock { $0 } }

    /// Moves forward to an instant. An earlier one changes nothing.
    public func advance(to instant: Instant) { moment.withLock { $0 = max($0, instant) } }
    /// Moves forward by an interval.
    public func advance(by interval: Interval) { moment.withLock { $0 = $0 + interval } }
}
