public import Timeline

/// A time in which nobody could reach a service: what it was told then, it was not told.
public struct Outage: Sendable, Equatable {
    /// The last moment, by the suite's clock, at which the service is known to have answered.
    public var from: Instant
    /// The first moment at which it answers again.
    public var until: Instant

    public init(from: Instant, until: Instant) {
        self.from = from
        self.until = until
    }

    /// What it adds to a limit that ran all the while.
    public var length: Interval { until - from }
}

extension Machine {
    public static var ownsLimits: Bool { false }
    public static func note(_ outage: Outage, _ decision: inout Decision<Self>) {}
}
