public import Timeline

/// Limits of the platform that several services know.
public enum TimeLimits {
    /// The time of a background fetch, from the call of its handler to the answer.
    ///
    /// Apple, `application(_:performFetchWithCompletionHandler:)`: "Your app has up to 30 seconds of wall-clock time".
    public static let fetchHandler = Interval.seconds(Int64(30))
}
