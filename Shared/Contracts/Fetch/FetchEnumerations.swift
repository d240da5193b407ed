public import Records

/// A factor for or against a background refresh (Apple, WWDC20 session 10063, "Background execution demystified").
public enum FetchFactor: String, WireEnum {
    /// The battery is below 20 % and does not charge.
    case battery
    case lowPowerMode
    /// The probability that the user opens the app soon.
    case usage
    /// Whether the user swiped the app away.
    case appSwitcher
    /// The user's switches for Background App Refresh.
    case backgroundRefresh
    /// The energy that refreshes of the app and of the device have spent today.
    case budgets
    /// The interval of the app, the minimum interval of the system, and the minimum gap between wakes of the device.
    case rateLimit
    case network
    /// Whether the device is in use, switched on, cool and charging.
    case deviceActivity
    /// The limit of wakes per second for the whole suite.
    case herd
}

/// The result of a background refresh.
public enum FetchResult: String, WireEnum {
    case newData, noData, failed
    /// The handler exceeded its limit.
    case timedOut
    /// The refresh never began.
    case refused
}

/// A factor that can block a task request until it changes.
public enum TaskFactor: String, WireEnum {
    /// The iOS version has no task requests.
    case profile
    /// The mode or the entitlement is missing, or the identifier is no longer permitted.
    case manifest
    /// The device is locked and the task needs files that only an unlocked device can open.
    case dataProtection
    /// The app no longer registers a launch handler for the identifier.
    case launchHandler
    /// The battery is below 20 % and does not charge.
    case battery
    case lowPowerMode
    /// Whether the user swiped the app away.
    case appSwitcher
    /// The user's switches for Background App Refresh and the restriction of the device.
    case backgroundRefresh
    case network
    /// The request requires external power and the device does not charge.
    case externalPower
    /// The device is off or too hot. For a refresh: the app is on screen. For processing: the device is in use.
    case deviceActivity
}

/// The result of the run of a task request.
public enum TaskResult: String, WireEnum {
    /// `setTaskCompleted(success:)`.
    case succeeded, failed
    /// The handler exceeded its limit.
    case timedOut
    /// The run never began and is retried later.
    case refused
    /// The task was asked to end and completed unsuccessfully.
    case stopped
}

/// The reason why a running task was asked to end early.
public enum TaskStopCause: String, WireEnum {
    case userReturned
    /// The user cancelled a continued processing task in the interface of the system.
    case userCancelled
    /// A condition of the task no longer holds.
    case conditionEnded
    /// A tester requested the end.
    case simulated
}

/// The kinds of `BGTaskRequest`.
public enum TaskRequestKind: String, WireEnum {
    /// `BGAppRefreshTaskRequest`.
    case refresh
    /// `BGProcessingTaskRequest`.
    case processing
    /// `BGHealthResearchTaskRequest`, which is a kind of `BGProcessingTaskRequest`.
    case healthResearch
    /// `BGContinuedProcessingTaskRequest`.
    case continuedProcessing

    /// Whether the class of the request is `BGProcessingTaskRequest` or inherits from it.
    public var isProcessing: Bool {
        switch self {
        case .refresh, .continuedProcessing: false
        case .processing, .healthResearch: true
        }
    }
}

/// `BGContinuedProcessingTaskRequest.SubmissionStrategy`.
public enum SubmissionStrategy: String, WireEnum {
    /// The submission fails if the system can't run the task immediately.
    case fail
    /// The request waits in a queue until the system can run the task.
    case queue
}

/// `BGContinuedProcessingTaskRequest.Resources`.
public enum TaskResource: String, WireEnum {
    /// The GPU in the background. It needs an entitlement.
    case gpu
}

/// `FileProtectionType`.
public enum FileProtectionType: String, WireEnum {
    /// `FileProtectionType.none`.
    case unprotected = "none"
    case complete, completeUnlessOpen, completeUntilFirstUserAuthentication
}
