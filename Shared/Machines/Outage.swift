public import Timeline

/// A period in which the service accepted no calls.
public struct Outage: Sendable, Equatable {
    /// The last suite time at which the service was known to accept calls.
    public var from: Instant
    /// The first suite time at which it accepts calls again.
    public var until: Instant

    /// Creates an outage.
    public init(from: Instant, until: Instant) {
        self.from = from
        self.until = until
    }

    /// The extension of a limit that ran during the whole outage.
    public var length: Interval { until - from }
}

extension Machine {
    public static var ownsLimits: Bool { false }
    public static func note(_ outage: Outage, _ decision: inout Decision<Self>) {}
}
