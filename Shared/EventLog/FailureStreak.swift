public import Logging

/// A counter of consecutive failures. A single failure may be temporary; a streak has consequences.
public struct FailureStreak: Sendable {
    /// The number of consecutive failures from which they are errors.
    public static let patience = 3

    /// The number of consecutive failures.
    public private(set) var count = 0

    public init() {}

    /// Whether the failures have reached ``patience``.
    public var isLasting: Bool { count >= Self.patience }
    /// The log level for the last failure.
    public var level: Logger.Level { isLasting ? .error : .warning }

    /// Counts a failure.
    ///
    /// - Returns: the pause before the next try: 10 s, doubled each time, at most `limit`.
    public mutating func fail(within limit: Duration) -> Duration {
        count += 1
        return min(limit, .seconds(10 << min(count - 1, 10)))
    }

    /// Ends the streak after a success.
    public mutating func end() { count = 0 }
}
