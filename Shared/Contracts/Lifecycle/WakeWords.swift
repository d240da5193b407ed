public import Records

/// What an app is woken for.
public enum WakeReason: String, Word {
    case fetch
    /// A notification with `content-available`.
    case push
    /// A background URL session has events.
    case transfer
    /// A region was entered or left, or the device moved far.
    case location
    /// A request to `BGTaskScheduler` is due.
    case task
    case voip
}

/// What exactly an app is woken for. Each kind has a handler, a limit and conditions of its own.
public enum WakeKind: String, Word {
    case fetch, push
    /// A notification with `content-available` for a Newsstand app.
    case newsstand
    case transfer, region, significantChange
    /// `BGAppRefreshTask`.
    case refreshTask
    /// `BGProcessingTask`.
    case processingTask
    /// A push of PushKit that announces a call.
    case voipPush
    /// The app is launched to open its socket again: after the device started, and after the app died.
    case voipSocket

    public var reason: WakeReason {
        switch self {
        case .fetch: .fetch
        case .push, .newsstand: .push
        case .transfer: .transfer
        case .region, .significantChange: .location
        case .refreshTask, .processingTask: .task
        case .voipPush, .voipSocket: .voip
        }
    }

    /// The kind itself, where its reason alone does not tell it.
    public var beyondReason: WakeKind? { rawValue == reason.rawValue ? nil : self }
}

/// `UIBackgroundFetchResult`.
public enum WakeResult: String, Word { case newData, noData, failed }

/// Why an app was not woken.
public enum WakeRefusal: String, Word {
    case notInstalled, unsupportedOnProfile, deviceOff, forceQuit, modeNotDeclared
    case backgroundRefreshDenied, backgroundRefreshRestricted, lowPowerMode
    /// It is on screen: the system calls background handlers in the background only.
    case inForeground
    /// Memory is so short that nothing is launched for its own sake.
    case memoryPressure
    /// It was told to end, and has not returned from that yet.
    case terminating
    /// Only `always` lets the system launch an app for where the device is.
    case locationNotAuthorized
    /// A Newsstand app is woken once a day.
    case alreadyWokenToday
    /// It was resumed for VoIP too often in too short a time.
    case resumedTooOften
}
