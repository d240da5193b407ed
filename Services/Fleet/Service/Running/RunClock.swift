public import Timeline

/// The real time of a run, which never goes back.
public struct RunClock: Sendable {
    public let begin: Instant
    private let started = ContinuousClock.now

    public init(begin: Instant) { self.begin = begin }

    /// The current real time.
    public var now: Instant { begin + elapsed }

    /// The time since the start.
    public var elapsed: Interval {
        let (seconds, attoseconds) = started.duration(to: .now).components
        return .milliseconds(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
