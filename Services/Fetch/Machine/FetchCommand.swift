public import Contracts

/// A command of an app or of a tester.
public enum FetchCommand: Sendable, Equatable {
    /// `setMinimumBackgroundFetchInterval(_:)`.
    case setInterval(app: String, FetchInterval)
    /// Refreshes an app now. It skips the scheduler but obeys the rules of the platform.
    case simulateFetch(app: String)
    /// `BGTaskScheduler.submit(_:)`.
    case submitTask(app: String, BackgroundTaskRequest)
    /// `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`.
    case cancelTask(app: String, identifier: String)
    /// `BGTaskScheduler.cancelAllTaskRequests()`.
    case cancelAllTasks(app: String)
    /// The user cancels a continued processing task in the interface of the system.
    case cancelContinuedTask(app: String, identifier: String)
    /// Runs a pending task request now. It skips the scheduler but obeys the rules of the platform.
    case simulateTaskLaunch(app: String, identifier: String)
    /// Expires a running task.
    case simulateTaskExpiration(app: String, identifier: String)
}
