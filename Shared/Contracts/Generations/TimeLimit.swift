public import Records
import Timeline

/// A time limit of iOS: a row of ``Generations``.
public enum TimeLimit: String, WireEnum {
    /// The time of all background tasks of an app after it enters the background.
    ///
    /// Source: "Backgrounding with tasks" (source document): 600 s on iOS 6. 180 s from iOS 7 and 30 s from iOS 13 are
    /// from secondary sources.
    case backgroundTasks
    /// The same in Low Power Mode.
    ///
    /// Source: our choice: half of it.
    case backgroundTasksInLowPowerMode
    /// The handler of a background URL session.
    ///
    /// Source: our choice: as ``fetchHandler``.
    case backgroundURLSessionHandler
    /// The handler of a Bluetooth event. Afterwards the app is suspended.
    ///
    /// Source: Apple, "Core Bluetooth Background Processing for iOS Apps": around 10 s.
    case bluetoothHandler
    /// A `BGContinuedProcessingTask` of an app in the background, from its last progress.
    ///
    /// Source: our choice. Apple, `BGContinuedProcessingTask`: the system ends tasks with "minimal or no progress" first.
    case continuedProcessingProgress
    /// `applicationDidEnterBackground(_:)`.
    ///
    /// Source: Apple, "Preparing your UI to run in the background": 5 s.
    case didEnterBackground
    /// The handler of a background fetch, from its call to the answer.
    ///
    /// Source: Apple, `application(_:performFetchWithCompletionHandler:)`: 30 s of wall-clock time.
    case fetchHandler
    /// The update handler of a HealthKit query. Afterwards the app is suspended.
    ///
    /// Source: our choice: as ``fetchHandler``.
    case healthHandler
    /// The launch handlers.
    ///
    /// Source: the watchdog, in secondary sources: 20 s.
    case launch
    /// The handler of a location event.
    ///
    /// Source: Apple, "Location and Maps Programming Guide": about 10 s. That the app is suspended afterwards, not
    /// killed, is our choice.
    case locationHandler
    /// The handler of a notification for a Newsstand app.
    ///
    /// Source: our choice: as ``remoteNotificationHandler``.
    case newsstandHandler
    /// The handler of the user's response to a notification that does not open the app. Afterwards the app is suspended.
    ///
    /// Source: our choice: as ``remoteNotificationHandler``. Apple,
    /// `application(_:handleActionWithIdentifier:forRemoteNotification:withResponseInfo:completionHandler:)`: "as soon as
    /// you've finished handling the action".
    case notificationResponseHandler
    /// The service extension of an app, from the delivery of the notification to the changed content.
    ///
    /// Source: Apple, "Modifying content in newly delivered notifications": about 30 s.
    case notificationServiceExtension
    /// A `BGProcessingTask`.
    ///
    /// Source: Apple, WWDC19 session 707: minutes. 600 s is our choice.
    case processingTask
    /// The handler of a push of the framework Push to Talk.
    ///
    /// Source: our choice: as ``remoteNotificationHandler``. Apple, `incomingPushResult`: "as soon as possible".
    case pushToTalkHandler
    /// A `BGAppRefreshTask`.
    ///
    /// Source: Apple, WWDC19 session 707: 30 s.
    case refreshTask
    /// The handler of a notification with `content-available`.
    ///
    /// Source: Apple, `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`: 30 s.
    case remoteNotificationHandler
    /// The time in which the handler of a VoIP push must report a call.
    ///
    /// Source: our choice: as other pushes.
    case voipPushHandler
    /// The time to reopen a VoIP socket. Afterwards the app is suspended.
    ///
    /// Source: Apple, `setKeepAliveTimeout(_:handler:)`: 10 s.
    case voipSocket
    /// `applicationWillTerminate(_:)`.
    ///
    /// Source: Apple, `applicationWillTerminate(_:)`: "approximately five seconds".
    case willTerminate

    /// The limit in seconds, by the first major version of iOS that has it.
    private var seconds: [(since: Int, seconds: Double)] {
        switch self {
        case .backgroundTasks: [(1, 600), (7, 180), (13, 30)]
        case .backgroundTasksInLowPowerMode: [(1, 90), (13, 15)]
        case .backgroundURLSessionHandler: [(1, 30)]
        case .bluetoothHandler: [(1, 10)]
        case .continuedProcessingProgress: [(1, 60)]
        case .didEnterBackground: [(1, 5)]
        case .fetchHandler: [(1, 30)]
        case .healthHandler: [(1, 30)]
        case .launch: [(1, 20)]
        case .locationHandler: [(1, 10)]
        case .newsstandHandler: [(1, 30)]
        case .notificationResponseHandler: [(1, 30)]
        case .notificationServiceExtension: [(1, 30)]
        case .processingTask: [(1, 600)]
        case .pushToTalkHandler: [(1, 30)]
        case .refreshTask: [(1, 30)]
        case .remoteNotificationHandler: [(1, 30)]
        case .voipPushHandler: [(1, 30)]
        case .voipSocket: [(1, 10)]
        case .willTerminate: [(1, 5)]
        }
    }

    /// The feature that the limit belongs to. A generation without the feature has no limit.
    public var feature: Feature? {
        switch self {
        case .backgroundTasksInLowPowerMode: .lowPowerMode
        case .backgroundURLSessionHandler: .backgroundSessions
        case .continuedProcessingProgress: .continuedProcessingTasks
        case .fetchHandler: .backgroundFetch
        case .healthHandler: .healthDelivery
        case .newsstandHandler: .newsstand
        case .notificationResponseHandler: .notificationActions
        case .notificationServiceExtension: .notificationServiceExtension
        case .processingTask, .refreshTask: .backgroundTaskScheduler
        case .pushToTalkHandler: .pushToTalk
        case .remoteNotificationHandler: .silentNotifications
        case .voipPushHandler: .voipPushes
        case .voipSocket: .voipSockets
        case .backgroundTasks, .bluetoothHandler, .didEnterBackground, .launch, .locationHandler, .willTerminate: nil
        }
    }

    /// Returns the limit of a version of iOS by this table, also if the version lacks ``feature``.
    func standard(_ version: Int) -> Interval {
        .seconds(seconds.last { $0.since <= version }?.seconds ?? seconds[0].seconds)
    }
}
