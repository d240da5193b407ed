public import Contracts

/// What apps, and those who test them, ask of `fetch`.
public enum FetchCommand: Sendable, Equatable {
    /// `setMinimumBackgroundFetchInterval(_:)`.
    case setInterval(app: String, FetchInterval)
    /// Refreshes now: past the scheduler, not past the rules of the platform.
    case simulateFetch(app: String)
}
