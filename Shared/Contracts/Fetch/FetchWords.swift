public import Records

/// What speaks for or against a background refresh (Apple, WWDC20 session 10063, "Background execution demystified").
public enum FetchFactor: String, Word {
    /// Below 20 % and not charging.
    case battery
    case lowPowerMode
    /// How likely the user opens the app soon.
    case usage
    /// Whether the user swiped the app away.
    case appSwitcher
    /// The user's switches for Background App Refresh.
    case backgroundRefresh
    /// What refreshes have spent today, of the app and of the device.
    case budgets
    /// The interval of the app, the floor of the system, and the spacing of the device's wakes.
    case rateLimit
    case network
    /// Whether the device is used, on, cool and charging.
    case deviceActivity
    /// The ceiling of wakes over the whole suite.
    case herd
}

/// How a background refresh ended.
public enum FetchResult: String, Word {
    case newData, noData, failed
    /// The handler missed its limit.
    case timedOut
    /// It never began.
    case refused
}

/// What can make a task request wait, until it changes.
public enum TaskFactor: String, Word {
    /// The generation has no task requests.
    case profile
    /// The mode is missing, or the identifier is not permitted any more.
    case manifest
    /// Below 20 % and not charging.
    case battery
    case lowPowerMode
    /// Whether the user swiped the app away.
    case appSwitcher
    /// The user's switches for Background App Refresh, and the restriction of the device.
    case backgroundRefresh
    case network
    /// The device does not charge, and the request requires it.
    case externalPower
    /// The device is off or too hot; of a refresh, the app is on screen; of processing, the device is in use.
    case deviceActivity
}

/// How the run of a task request ended.
public enum TaskResult: String, Word {
    /// `setTaskCompleted(success:)`.
    case succeeded, failed
    /// The handler missed its limit.
    case timedOut
    /// It never began; it is tried again later.
    case refused
    /// It was told to end, and did so unsuccessfully.
    case stopped
}

/// Why a running task was told to end before its time was over.
public enum TaskStopCause: String, Word {
    case userReturned
    /// Something stands against it that did not when it began.
    case conditionEnded
    /// A tester wanted it.
    case simulated
}

/// The kinds of `BGTaskRequest`.
public enum TaskRequestKind: String, Word {
    /// `BGAppRefreshTaskRequest`.
    case refresh
    /// `BGProcessingTaskRequest`.
    case processing
}
