public import Timeline

/// Limits of the platform that several services know.
public enum TimeLimits {
    /// The time of a background fetch, from the call of its handler to the answer.
    ///
    /// Source: Apple, `application(_:performFetchWithCompletionHandler:)`, 30 s of wall-clock time.
    public static let fetchHandler = Interval.seconds(Int64(30))
}
