public import Records

/// A feature of iOS that some generations lack: a row of ``Generations``.
///
/// A call for a feature that the generation of the device lacks is refused with `unsupported_on_profile`.
public enum Feature: String, WireEnum {
    /// A notification with an alert and `content-available` is shown after the handler of the app has returned.
    ///
    /// Source: "Updating an application in the background" (source document): the app updates before the user is
    /// notified. Apple shows the alert at once today; the generation of the change is our choice.
    case alertWaitsForHandler
    /// The user allows location once. The authorization ends when the app is no longer in use.
    ///
    /// Source: iOS 13, in secondary sources.
    case allowOnce
    /// The app switcher shows a snapshot of each app.
    ///
    /// Source: "Introduction to backgrounding in iOS" (source document): iOS 7 introduced the app switcher.
    case appSwitcherSnapshots
    /// `CLBackgroundActivitySession`: an app that the user has authorized for its use stays in use in the background.
    ///
    /// Source: Apple, `CLBackgroundActivitySession`, iOS 17.0.
    case backgroundActivitySession
    /// The settings and the status of Background App Refresh.
    ///
    /// Source: Apple, `UIApplication.backgroundRefreshStatus`, iOS 7.0.
    case backgroundAppRefresh
    /// `setMinimumBackgroundFetchInterval(_:)`.
    ///
    /// Source: Apple, `setMinimumBackgroundFetchInterval(_:)`, iOS 7.0. It is deprecated from iOS 13, and still works.
    case backgroundFetch
    /// Background sessions of `URLSession`.
    ///
    /// Source: "Backgrounding with tasks" (source document): before iOS 7, an app uses a background task instead.
    case backgroundSessions
    /// `BGTaskScheduler`.
    ///
    /// Source: Apple, `BGTaskScheduler`, iOS 13.0.
    case backgroundTaskScheduler
    /// Monitoring of iBeacons.
    ///
    /// Source: Apple, "Region Monitoring and iBeacon": beacon region monitoring from iOS 7.0.
    case beaconRegions
    /// Bluetooth events launch an app after a restart of the device.
    ///
    /// Source: Apple, QA1962, "Conditions Under Which Bluetooth State Restoration Will Relaunch An App": from iOS 11.
    case bluetoothAfterRestart
    /// Bluetooth managers that outlive the process of their app.
    ///
    /// Source: Apple, `CBCentralManagerOptionRestoreIdentifierKey`, iOS 7.0.
    case bluetoothRestoration
    /// Subscriptions to broadcast channels.
    ///
    /// Source: Apple, "Setting up broadcast push notifications", iOS 18.
    case broadcastChannels
    /// An app must report a call for each VoIP push.
    ///
    /// Source: Apple, "Responding to VoIP Notifications from PushKit": apps built using the iOS 13 SDK or later.
    case callReporting
    /// The reason why the system cancelled a task of a background session.
    ///
    /// Source: Apple, `NSURLErrorBackgroundTaskCancelledReasonKey`, iOS 8.0.
    case cancellationReasons
    /// PushKit for the complications of a watch.
    ///
    /// Source: Apple, `PKPushType.complication`, iOS 9.0.
    case complicationPushes
    /// `BGContinuedProcessingTask`.
    ///
    /// Source: Apple, `BGContinuedProcessingTask`, iOS 26.0.
    case continuedProcessingTasks
    /// Pushes that reload controls.
    ///
    /// Source: Apple, `ControlPushHandler`, iOS 18.0.
    case controlPushes
    /// Critical alerts, which ignore the mute switch and Do Not Disturb.
    ///
    /// Source: Apple, `UNAuthorizationOptions.criticalAlert`, iOS 12.0.
    case criticalAlerts
    /// Do Not Disturb silences alerts. From iOS 15 it is a Focus.
    ///
    /// Source: secondary sources. Apple's page about `UNNotificationInterruptionLevel.critical` names it.
    case doNotDisturb
    /// `earliestBeginDate` of a task of a background session, and `willBeginDelayedRequest` of its delegate.
    ///
    /// Source: Apple, `URLSessionTask.earliestBeginDate` and
    /// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`, both iOS 11.0.
    case earliestBeginDate
    /// App Clips, whose notifications the system authorizes for a limited time.
    ///
    /// Source: Apple, `UNAuthorizationStatus.ephemeral`, iOS 14.0.
    case ephemeralAuthorization
    /// Sessions that do not use expensive networks.
    ///
    /// Source: Apple, `URLSessionConfiguration.allowsExpensiveNetworkAccess`, iOS 13.0.
    case expensiveNetworkAccess
    /// Pushes for file providers.
    ///
    /// Source: Apple, `PKPushType.fileProvider`, iOS 11.0.
    case fileProviderPushes
    /// A Focus of the user silences alerts.
    ///
    /// Source: Apple, `INFocusStatus`, iOS 15.0.
    case focus
    /// New samples of HealthKit wake an app.
    ///
    /// Source: Apple, `HKObserverQuery`, iOS 8.0.
    case healthDelivery
    /// `BGHealthResearchTask`.
    ///
    /// Source: Apple, `BGHealthResearchTask`, iOS 17.0.
    case healthResearchTasks
    /// Informational responses of servers, which the delegate of a task gets.
    ///
    /// Source: Apple, `urlSession(_:task:didReceiveInformationalResponse:)`, iOS 17.0.
    case informationalResponses
    /// The interruption level of a notification.
    ///
    /// Source: Apple, `UNNotificationInterruptionLevel`, iOS 15.0.
    case interruptionLevels
    /// Notifications for Live Activities.
    ///
    /// Source: Apple, "ActivityKit", iOS 16.1.
    case liveActivities
    /// Location updates in the background need `allowsBackgroundLocationUpdates`.
    ///
    /// Source: Apple, `CLLocationManager.allowsBackgroundLocationUpdates`, iOS 9.0.
    case locationFlag
    /// `CLMonitor`.
    ///
    /// Source: Apple, `CLMonitor`, iOS 17.0.
    case locationMonitors
    /// Pushes that start a location push service extension.
    ///
    /// Source: Apple, `CLLocationPushServiceExtension`, iOS 15.0.
    case locationPushes
    /// Low Data Mode, which makes a network constrained.
    ///
    /// Source: Apple, `URLSessionConfiguration.allowsConstrainedNetworkAccess`, iOS 13.0.
    case lowDataMode
    /// Low Power Mode.
    ///
    /// Source: Apple, `ProcessInfo.isLowPowerModeEnabled`, iOS 9.0.
    case lowPowerMode
    /// Newsstand apps, which a notification wakes once a day.
    ///
    /// Source: Apple, "What's New in iOS": Newsstand Kit came with iOS 5.0; the News app replaced Newsstand in iOS 9
    /// (secondary sources).
    case newsstand
    /// Categories of notifications, with actions of the app.
    ///
    /// Source: Apple, `UIUserNotificationAction`, iOS 8.0.
    case notificationActions
    /// The service extension of an app, which may change an alert with `mutable-content` before the user sees it.
    ///
    /// Source: Apple, `UNNotificationServiceExtension`, iOS 10.0.
    case notificationServiceExtension
    /// The system creates processes before the user launches an app.
    ///
    /// Source: Apple, "About the app launch sequence": "In iOS 15 and later".
    case prewarming
    /// Processing tasks run after a force quit.
    ///
    /// Source: Apple's developer technical support, on iOS 18.
    case processingAfterForceQuit
    /// Notifications on trial, which come quietly.
    ///
    /// Source: Apple, `UNAuthorizationOptions.provisional`, iOS 12.0.
    case provisionalAuthorization
    /// Pushes that start a Live Activity.
    ///
    /// Source: Apple, `Activity.pushToStartTokenUpdates`, iOS 17.2.
    case pushToStart
    /// Pushes of the Push to Talk framework.
    ///
    /// Source: Apple, "Push to Talk", iOS 16.0.
    case pushToTalk
    /// The user may reduce the accuracy of location for an app.
    ///
    /// Source: Apple, `CLLocationManager.accuracyAuthorization`, iOS 14.0.
    case reducedAccuracy
    /// Turning Background App Refresh off also ends activities.
    ///
    /// Source: "Introduction to backgrounding in iOS" (source document): the app is suspended and kept from any
    /// processing. From iOS 13 activities continue, which is our choice.
    case refreshSwitchEndsActivities
    /// A region launches an app after a force quit.
    ///
    /// Source: secondary sources, from iOS 8.
    case regionsAfterForceQuit
    /// Uploads of background sessions continue after an interruption, if the server supports it.
    ///
    /// Source: Apple, "Pausing and resuming uploads": "New in iOS 17 and aligned OS versions".
    case resumableUploads
    /// Scenes: UIKit calls the scene delegate instead of the app delegate when an app enters or leaves the screen.
    ///
    /// Source: Apple, `UISceneDelegate`, iOS 13.0.
    case scenes
    /// The scheduled summary of notifications.
    ///
    /// Source: Apple, `UNNotificationSettings.scheduledDeliverySetting`, iOS 15.0.
    case scheduledSummary
    /// Background sessions of app extensions, which need a container that they share with their app.
    ///
    /// Source: Apple, `URLSessionConfiguration.sharedContainerIdentifier`, iOS 8.0.
    case sharedContainers
    /// Notifications with `content-available` wake an app.
    ///
    /// Source: "Updating an application in the background" (source document): before iOS 7 a push only alerts.
    case silentNotifications
    /// The time of background tasks passes only while the device is awake.
    ///
    /// Source: "Backgrounding with tasks" (source document): from iOS 7 tasks run while the device is awake for other
    /// work. Deadlines depend on it, and they are a part of stored states, so a deployment can't override it.
    case tasksNeedAwakeDevice
    /// Actions of a notification in which the user writes a text.
    ///
    /// Source: Apple, `application(_:handleActionWithIdentifier:forRemoteNotification:withResponseInfo:completionHandler:)`,
    /// iOS 9.0.
    case textInputActions
    /// A change of the user interface in the background kills an app.
    ///
    /// Source: "Updating an application in the background" (source document): before iOS 7.
    case uiInBackgroundKills
    /// `UNUserNotificationCenter`. Before, the delegate of the app gets the notification that the user opens.
    ///
    /// Source: Apple, `UNUserNotificationCenter`, iOS 10.0.
    case userNotificationCenter
    /// Monitoring of visits: the user arrives at a place or leaves it.
    ///
    /// Source: Apple, `startMonitoringVisits()`, iOS 8.0.
    case visits
    /// PushKit for calls.
    ///
    /// Source: Apple, "PushKit", iOS 8.0.
    case voipPushes
    /// `setKeepAliveTimeout(_:handler:)`: the system keeps the socket of a VoIP app.
    ///
    /// Source: Apple, `setKeepAliveTimeout(_:handler:)`, iOS 4.0 to 9.0. That iOS 9 has PushKit only is our choice.
    case voipSockets
    /// Pushes that reload widgets.
    ///
    /// Source: Apple, `WidgetPushHandler`, iOS 26.0.
    case widgetPushes

    /// The versions of iOS that have the feature.
    public var span: Span {
        switch self {
        case .alertWaitsForHandler: Span("delayed alerts", until: 12)
        case .allowOnce: Span("Allow Once", since: 13)
        case .appSwitcherSnapshots: Span("app switcher with snapshots", since: 7)
        case .backgroundActivitySession: Span("background activity sessions", since: 17)
        case .backgroundAppRefresh: Span("Background App Refresh", since: 7)
        case .backgroundFetch: Span("background fetch", since: 7)
        case .backgroundSessions: Span("background sessions", since: 7)
        case .backgroundTaskScheduler: Span("task requests", since: 13)
        case .beaconRegions: Span("beacon regions", since: 7)
        case .bluetoothAfterRestart: Span("Bluetooth restoration after a restart", since: 11)
        case .bluetoothRestoration: Span("Bluetooth restoration", since: 7)
        case .broadcastChannels: Span("broadcast channels", since: 18)
        case .callReporting: Span("duty to report calls", since: 13)
        case .cancellationReasons: Span("reasons of cancelled tasks", since: 8)
        case .complicationPushes: Span("pushes for complications", since: 9)
        case .continuedProcessingTasks: Span("continued processing tasks", since: 26)
        case .controlPushes: Span("pushes for controls", since: 18)
        case .criticalAlerts: Span("critical alerts", since: 12)
        case .doNotDisturb: Span("Do Not Disturb", until: 14)
        case .earliestBeginDate: Span("earliestBeginDate", since: 11)
        case .ephemeralAuthorization: Span("ephemeral authorization", since: 14)
        case .expensiveNetworkAccess: Span("allowsExpensiveNetworkAccess", since: 13)
        case .fileProviderPushes: Span("pushes for file providers", since: 11)
        case .focus: Span("Focus", since: 15)
        case .healthDelivery: Span("background delivery of HealthKit", since: 8)
        case .healthResearchTasks: Span("health research tasks", since: 17)
        case .informationalResponses: Span("informational responses", since: 17)
        case .interruptionLevels: Span("interruption levels", since: 15)
        case .liveActivities: Span("Live Activities", since: 16)
        case .locationFlag: Span("allowsBackgroundLocationUpdates", since: 9)
        case .locationMonitors: Span("CLMonitor", since: 17)
        case .locationPushes: Span("location pushes", since: 15)
        case .lowDataMode: Span("Low Data Mode", since: 13)
        case .lowPowerMode: Span("Low Power Mode", since: 9)
        case .newsstand: Span("Newsstand", until: 8)
        case .notificationActions: Span("notification actions", since: 8)
        case .notificationServiceExtension: Span("notification service extensions", since: 10)
        case .prewarming: Span("prewarming", since: 15)
        case .processingAfterForceQuit: Span("processing after a force quit", since: 18)
        case .provisionalAuthorization: Span("provisional authorization", since: 12)
        case .pushToStart: Span("push-to-start", since: 17)
        case .pushToTalk: Span("Push to Talk", since: 16)
        case .reducedAccuracy: Span("reduced accuracy of location", since: 14)
        case .refreshSwitchEndsActivities: Span("end of activities with Background App Refresh", since: 7, until: 12)
        case .regionsAfterForceQuit: Span("regions after a force quit", since: 8)
        case .resumableUploads: Span("resumable uploads", since: 17)
        case .scenes: Span("scenes", since: 13)
        case .scheduledSummary: Span("scheduled summary", since: 15)
        case .sharedContainers: Span("sessions of app extensions", since: 8)
        case .silentNotifications: Span("silent notifications", since: 7)
        case .tasksNeedAwakeDevice: Span("background tasks that stop in sleep", since: 7)
        case .textInputActions: Span("text input actions", since: 9)
        case .uiInBackgroundKills: Span("kills for the user interface in the background", until: 6)
        case .userNotificationCenter: Span("UNUserNotificationCenter", since: 10)
        case .visits: Span("visits", since: 8)
        case .voipPushes: Span("PushKit", since: 8)
        case .voipSockets: Span("VoIP sockets", until: 8)
        case .widgetPushes: Span("pushes for widgets", since: 26)
        }
    }

    /// Whether a deployment can override the feature.
    var canBeOverridden: Bool { self != .tasksNeedAwakeDevice }
}
