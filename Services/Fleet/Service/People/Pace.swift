public import Timeline

/// How the time of the simulated people goes against real time: they act `rate` times faster. The handlers of their apps
/// work in real time, since the suite's limits do.
public struct Pace: Sendable, Equatable {
    /// The real moment at which the run began.
    public var begin: Instant
    /// What the people's clock showed then.
    public var peopleBegin: Instant
    /// Seconds of the people in a real second.
    public var rate: Double

    public init(begin: Instant, peopleBegin: Instant, rate: Double) {
        self.begin = begin
        self.peopleBegin = peopleBegin
        self.rate = rate
    }

    /// The people's time at a real moment.
    public func peopleTime(at real: Instant) -> Instant {
        peopleBegin + .milliseconds(Int64((Double((real - begin).milliseconds) * rate).rounded(.down)))
    }

    /// The first real millisecond at which the people's time is, or is past, this one.
    public func real(at people: Instant) -> Instant {
        begin + .milliseconds(Int64((Double((people - peopleBegin).milliseconds) / rate).rounded(.up)))
    }

    /// How long a span of the people's time lasts really; never shorter than `atLeast`, so that the suite can follow.
    public func real(_ people: Interval, atLeast: Interval = .zero) -> Interval {
        max(atLeast, .milliseconds(Int64((Double(people.milliseconds) / rate).rounded(.up))))
    }
}
