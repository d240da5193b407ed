public import Records

/// The reason of a wake.
public enum WakeReason: String, WireEnum {
    case fetch
    /// A notification with `content-available`, or a push of the framework Push to Talk.
    case push
    /// A background URL session has events.
    case transfer
    /// A region was entered or left, a condition of a monitor changed, the device moved far, or a visit began or ended.
    case location
    /// A request to `BGTaskScheduler` is due.
    case task
    case voip
    /// An event of Core Bluetooth.
    case bluetooth
    /// New samples of HealthKit.
    case health
    /// The user responded to a notification without opening the app.
    case notificationResponse
}

/// The kind of a wake. Each kind has its own handler, limit and conditions.
public enum WakeKind: String, WireEnum {
    case fetch, push
    /// A notification with `content-available` for a Newsstand app.
    case newsstand
    /// A push of the framework Push to Talk.
    case pushToTalk
    case transfer, region, significantChange, visit
    /// A condition of a `CLMonitor` has a new state.
    case monitor
    /// `BGAppRefreshTask`.
    case refreshTask
    /// `BGProcessingTask`.
    case processingTask
    /// `BGContinuedProcessingTask`. It starts while its app is on screen, or later from a queue.
    case continuedProcessingTask
    /// A PushKit push that announces a call.
    case voipPush
    /// A launch to reopen the VoIP socket after the device started or the app died.
    case voipSocket
    /// An event for a central manager.
    case bluetoothCentral
    /// An event for a peripheral manager.
    case bluetoothPeripheral
    case health
    case notificationResponse

    /// The reason for a wake of this kind.
    public var reason: WakeReason {
        switch self {
        case .fetch: .fetch
        case .push, .newsstand, .pushToTalk: .push
        case .transfer: .transfer
        case .region, .significantChange, .visit, .monitor: .location
        case .refreshTask, .processingTask, .continuedProcessingTask: .task
        case .voipPush, .voipSocket: .voip
        case .bluetoothCentral, .bluetoothPeripheral: .bluetooth
        case .health: .health
        case .notificationResponse: .notificationResponse
        }
    }

    /// The kind; nil if the reason has only this kind.
    public var beyondReason: WakeKind? { rawValue == reason.rawValue ? nil : self }
}

/// `UIBackgroundFetchResult`.
public enum WakeResult: String, WireEnum { case newData, noData, failed }

/// `PTPushResult`: the answer of an app to a push of the framework Push to Talk.
public enum PushToTalkResult: String, WireEnum {
    /// A remote participant speaks.
    case activeRemoteParticipant
    /// The app leaves the channel, which ends its push token.
    case leaveChannel
}

/// The reason why an app was not woken.
public enum WakeRefusal: String, WireEnum {
    case notInstalled, unsupportedOnProfile, deviceOff, forceQuit, modeNotDeclared
    case backgroundRefreshDenied, backgroundRefreshRestricted, lowPowerMode, lowDataMode
    /// The app is on screen. The system calls background handlers only in the background.
    /// For a location event, also: a background activity session keeps the app in use.
    case inForeground
    /// Memory pressure is critical and the wake is optional, so the app is not launched.
    case memoryPressure
    /// The app has not returned from `willTerminate` yet.
    case terminating
    /// The process that submitted a continued processing task has ended.
    case notRunning
    /// The system launches an app for a location event only with the authorization `always`.
    case locationNotAuthorized
    /// The user has reduced the accuracy of location, so regions and conditions are not monitored.
    case accuracyReduced
    /// A Newsstand app is woken once a day.
    case alreadyWokenToday
    /// The app was resumed for VoIP too often in a short time.
    case resumedTooOften
    /// The app repeatedly did not report a call for a VoIP push, so the system does not launch it for another one.
    case callsNotReported
}
