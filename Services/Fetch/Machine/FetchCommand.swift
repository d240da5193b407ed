public import Contracts

/// What apps, and those who test them, ask of `fetch`.
public enum FetchCommand: Sendable, Equatable {
    /// `setMinimumBackgroundFetchInterval(_:)`.
    case setInterval(app: String, FetchInterval)
    /// Refreshes now: past the scheduler, not past the rules of the platform.
    case simulateFetch(app: String)
    /// `BGTaskScheduler.submit(_:)`.
    case submitTask(app: String, BackgroundTaskRequest)
    /// `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`.
    case cancelTask(app: String, identifier: String)
    /// `BGTaskScheduler.cancelAllTaskRequests()`.
    case cancelAllTasks(app: String)
    /// Runs a pending task request now: past the scheduler, not past the rules of the platform.
    case simulateTaskLaunch(app: String, identifier: String)
    /// Ends a running task as if its time were over.
    case simulateTaskExpiration(app: String, identifier: String)
}
