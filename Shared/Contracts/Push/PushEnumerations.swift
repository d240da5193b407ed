public import Records
public import Timeline

/// `apns-push-type`.
public enum PushType: String, WireEnum {
    case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets, controls
}

/// The two environments of APNs.
public enum PushEnvironment: String, WireEnum { case sandbox, production }

/// The kind of a device token. The system gives each kind its own token, and a push needs a token of the kind that its
/// type names.
public enum TokenKind: String, WireEnum {
    /// Alerts and background pushes: `registerForRemoteNotifications()`.
    case apns
    /// PushKit: `PKPushType.voIP`, `.complication` and `.fileProvider`.
    case voip, complication, fileprovider
    /// `CLLocationManager.startMonitoringLocationPushes(completion:)`.
    case location
    /// One Live Activity: `Activity.pushTokenUpdates`.
    case liveactivity
    /// The start of a Live Activity: `Activity.pushToStartTokenUpdates`.
    case pushToStart
    /// The channel of an app in the framework Push to Talk.
    case pushtotalk
    /// `WidgetPushHandler` and `ControlPushHandler`.
    case widgets, controls
}

/// The kind of a device's connection.
public enum ConnectionKind: String, WireEnum {
    case stream, poll
    /// The connection of a built-in device, which no client holds.
    case builtIn
    /// The stream of a fleet, which connects all its devices.
    case fleet
}

/// The reason why a connection ended.
public enum ConnectionEnd: String, WireEnum {
    case closed, replaced, networkLost, powerLost, pollMissed, deregistered
    /// The process that held the connection stopped renewing its lease.
    case processLost
}

/// The reason why a device token became invalid.
public enum TokenEnd: String, WireEnum {
    /// The app unregistered.
    case unregistered
    case uninstalled
    /// The app registered with the other environment.
    case environmentChanged
    case deregistered
    /// The app left its Push to Talk channel.
    case channelLeft
    /// The Live Activity of the token was removed from the Lock Screen.
    case activityDismissed
}

/// `UNNotificationPresentationOptions`.
public enum PresentationOption: String, WireEnum {
    case alert, badge, banner, list, sound

    /// Whether the option shows the notification.
    public var shows: Bool { self == .alert || self == .banner || self == .list }
}

/// The reason why an alert is shown.
public enum PresentationCause: String, WireEnum {
    /// The device shows the alert, and the handler of its app runs beside it.
    case atOnce
    case completed
    /// `lifecycle` did not wake the app.
    case refused
    /// The process of the app ended before its handler returned.
    case ended
    /// The app declares no mode that lets a notification wake it.
    case notWoken
    /// The device has too many pending notifications to wait for the handler.
    case notAwaited
    /// The app has too many wakes in progress, so this alert requests none.
    case manyWakes
    /// The service extension of the app has ended.
    case serviceExtension
    /// The app is on screen, and its `willPresent` chose to show the notification.
    case willPresent
    /// The scheduled summary shows the alert, or the user has taken the app out of the summary.
    case summary
}

/// `UNNotificationInterruptionLevel`, with the values of the key `interruption-level`.
public enum InterruptionLevel: String, WireEnum {
    case passive, active
    case timeSensitive = "time-sensitive"
    case critical
}

/// Why a device does not light up its screen and plays no sound for an alert.
public enum QuietCause: String, WireEnum {
    /// Do Not Disturb is on.
    case doNotDisturb
    /// A Focus of the user silences the app.
    case focus
    /// The interruption level.
    case passive
    /// The authorization is on trial.
    case provisional
    /// The alert waits for the scheduled summary.
    case summary
}

/// The status of a notification.
///
/// Statuses that exist in Apple's console have its texts ("Viewing the status of push notifications using metrics and
/// APNs").
public enum ConsoleStatus: String, WireEnum {
    case received = "Received"
    case delivered = "Delivered"
    case deliveredFromStorage = "Delivered From Storage"
    case storedOffline = "Stored – Device Offline"
    case storedPower = "Stored – Power Considerations"
    case discardedUnregistered = "Discarded – Token Unregistered"
    case discardedExpired = "Discarded – Expired"
    case discardedDisabled = "Discarded – Disabled"
    /// The app has not asked the user for authorization.
    case discardedNotAuthorized = "Discarded – Not Authorized"
    case discardedNotWoken = "Discarded – Not Woken"
    case discardedAppKilled = "Discarded – App Killed"
    case discardedStorageFull = "Discarded – Storage Full"
    /// The budget of updates of the Live Activity is spent.
    case discardedThrottled = "Discarded – Throttled"
    /// A newer push has changed the Live Activity.
    case discardedOutdated = "Discarded – Outdated"
    case discardedActivityEnded = "Discarded – Live Activity Ended"
    /// The device has as many Live Activities as it may have.
    case discardedTooManyActivities = "Discarded – Too Many Live Activities"
    /// The payload lacks what its `event` needs.
    case discardedMalformed = "Discarded – Malformed"
    case heldBudget = "Held – Silent Budget"
    case heldLowPower = "Held – Low Power Mode"
    case heldRefused = "Held – Wake Refused"
    /// The alert waits on the device for the next summary.
    case heldSummary = "Held – Scheduled Summary"
    case releasedBudget = "Released – Budget"
    case releasedPiggyback = "Released – Piggyback"
    case releasedKeepAlive = "Released – Keep-alive"
    case releasedLaunch = "Released – Launch"
    case releasedThrottleOff = "Released – Throttle Off"
    case replaced = "Replaced By"
    case acknowledged = "Acknowledged"
    case presented = "Presented"
    case opened = "Opened"
    /// The user chose an action that does not open the app.
    case responded = "Responded"
    case dismissed = "Dismissed"
    /// The service extension changed the content.
    case modified = "Modified"
    /// The service extension ended without a change.
    case unmodified = "Not Modified"
    case wakeRequested = "Wake Requested"
    case wokeApp = "Woke App"
    case completed = "Completed"
    case wakeRefused = "Wake Refused"
    case wakeEnded = "Wake Ended"
    case wakeNotAwaited = "Wake Not Awaited"
    /// APNs refused the push. The reasons are those of Apple's table of error codes.
    case refusedNotForTopic = "Refused – DeviceTokenNotForTopic"
    case refusedExpiredToken = "Refused – ExpiredToken"
    case refusedUnregistered = "Refused – Unregistered"
}

/// One line in the timeline of a notification.
public struct NotificationStatus: Sendable, Equatable {
    public let notification: String
    public let status: ConsoleStatus
    public let until: Instant?
    public let cause: String?
    /// Whether the notification arrives with this line: the device shows an alert or hands it to `willPresent`, the
    /// handler of a silent notification starts, or the device acknowledges any other. The first such line counts.
    public let arrives: Bool

    init(
        _ notification: String, _ status: ConsoleStatus, until: Instant? = nil, cause: String? = nil,
        arrives: Bool = false
    ) {
        self.notification = notification
        self.status = status
        self.until = until
        self.cause = cause
        self.arrives = arrives
    }
}
