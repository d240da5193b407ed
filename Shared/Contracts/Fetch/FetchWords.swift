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
    /// The interval of the app, and the floor of the system.
    case rateLimit
    case network
    /// Whether the device is used, on, cool and charging.
    case deviceActivity
}

/// How a background refresh ended.
public enum FetchResult: String, Word {
    case newData, noData, failed
    /// The handler missed its limit.
    case timedOut
    /// It never began.
    case refused
}

/// The kinds of `BGTaskRequest`.
public enum TaskRequestKind: String, Word {
    /// `BGAppRefreshTaskRequest`.
    case refresh
    /// `BGProcessingTaskRequest`.
    case processing
}
