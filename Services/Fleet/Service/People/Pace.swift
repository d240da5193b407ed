public import Timeline

/// The conversion between real time and the time of users, who act `rate` times faster. Handlers of apps use real time,
/// because the limits of the suite do.
public struct Pace: Sendable, Equatable {
    /// The real time at the start of the run.
    public var begin: Instant
    /// The time of the users at the start of the run.
    public var peopleBegin: Instant
    /// Seconds of user time per real second.
    public var rate: Double

    /// Returns the user time at a real time.
    public func peopleTime(at real: Instant) -> Instant {
        peopleBegin + .milliseconds(Int64((Double((real - begin).milliseconds) * rate).rounded(.down)))
    }

    /// Returns the first real millisecond at which the user time is at or after `people`.
    public func real(at people: Instant) -> Instant {
        begin + .milliseconds(Int64((Double((people - peopleBegin).milliseconds) / rate).rounded(.up)))
    }

    /// Converts an interval of user time to real time, but not below `atLeast`, so that the suite can keep up.
    public func real(_ people: Interval, atLeast: Interval = .zero) -> Interval {
        max(atLeast, .milliseconds(Int64((Double(people.milliseconds) / rate).rounded(.up))))
    }
}
