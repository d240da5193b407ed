public import Logging

/// Counts how often in a row something has failed: once may pass by itself, again and again has consequences.
public struct FailureStreak: Sendable {
    /// From so many failures in a row on it is an error.
    public static let patience = 3

    /// How often in a row it has failed.
    public private(set) var count = 0

    public init() {}

    /// Whether it fails again and again.
    public var isLasting: Bool { count >= Self.patience }
    /// How loud the last failure is to be said.
    public var level: Logger.Level { isLasting ? .error : .warning }

    /// Counts a failure.
    ///
    /// - Returns: how long to wait before the next try: 10 s, doubled each time, at most `limit`.
    public mutating func fail(within limit: Duration) -> Duration {
        count += 1
        return min(limit, .seconds(10 << min(count - 1, 10)))
    }

    /// It went well.
    public mutating func end() { count = 0 }
}
