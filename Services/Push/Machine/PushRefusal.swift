public import Contracts
public import Machines
public import Timeline

/// The reason for a refused command.
public struct PushRefusal: MachineRefusal {
    public let reason: RefusalReason
    public init(_ reason: RefusalReason) { self.reason = reason }

    public static let deviceNotRegistered = Self(
        .notFound, "device_not_registered", "Device is not registered",
        "The device is not registered. Register it at lifecycle first.")
    /// The status of a refused push; nil if the push names no token of the device.
    public var pushStatus: ConsoleStatus? {
        switch reason.kind {
        case .gone(let since): self == .expiredToken(since: since) ? .refusedExpiredToken : .refusedUnregistered
        default: self == .deviceTokenNotForTopic ? .refusedNotForTopic : nil
        }
    }

    public static func appNotInstalled(_ app: String) -> Self {
        Self(
            .notFound, "app_not_installed", "App is not installed", "The app \(app) is not installed on the device.")
    }
    /// The call represents code of the app, and the app cannot run code.
    public static func appNotRunning(_ state: AppPresence) -> Self {
        Self(
            .conflict, "app_not_running", "App is not running",
            "The app can't run code in state \"\(state.rawValue)\": launch or activate it first.")
    }
    public static let activityMissing = Self(
        .unprocessable, "activity_missing", "Live Activity is missing",
        "A token of the kind liveactivity belongs to a Live Activity: send its id as the member activity.")
    public static func activityUnexpected(_ kind: TokenKind) -> Self {
        Self(
            .unprocessable, "activity_unexpected", "Token belongs to no Live Activity",
            "A token of the kind \(kind.rawValue) belongs to no Live Activity: remove the member activity.")
    }
    public static func channelsUnexpected(_ kind: TokenKind) -> Self {
        Self(
            .unprocessable, "channels_unexpected", "Token has no channels",
            "A token of the kind \(kind.rawValue) has no channels: set them with the kind apns.")
    }
    public static func tooManyActivities(_ limit: Int) -> Self {
        Self(
            .conflict, "too_many_activities", "Device has too many Live Activities",
            "A device can have \(limit) Live Activities: end and dismiss one first.")
    }
    public static let noRoomForActivity = Self(
        .conflict, "too_many_activities", "Device has too many Live Activities",
        "The apps, tokens, channels and Live Activities of the device leave no room for another one: dismiss one.")
    public static func activityNotRunning(_ activity: String) -> Self {
        Self(
            .conflict, "activity_not_running", "Live Activity is not running",
            "The app has no Live Activity \(activity) that can change: start it first.")
    }
    public static func activityExists(_ activity: String) -> Self {
        Self(
            .conflict, "activity_exists", "Live Activity already exists",
            "The app already has the Live Activity \(activity): update it, or choose another id.")
    }
    public static let appNotOnScreen = Self(
        .conflict, "app_not_on_screen", "App is not on screen",
        "An app can start a Live Activity only while it is on screen: launch or open it first.")
    public static let contentTooLarge = Self(
        .unprocessable, "content_too_large", "Content of the Live Activity is too large",
        "The content may have \(LiveActivity.contentBytes) bytes as JSON text.")
    public static func notRegistered(_ app: String) -> Self {
        Self(
            .conflict, "not_registered_for_notifications", "App has no device token",
            "The app \(app) has no device token. Register the app for notifications first.")
    }
    public static let noNetwork = Self(
        .conflict, "no_network", "Device has no network", "The device has no network. Report one to lifecycle first.")
    public static let notConnected = Self(
        .conflict, "not_connected", "Device is not connected",
        "The device is not connected. Open a stream or poll first.")
    public static func notificationNotOffered(_ id: String) -> Self {
        Self(
            .conflict, "notification_not_offered", "App was not asked about the notification",
            "No willPresent is pending for the notification \(id): it is no longer in flight, or its app was not on "
                + "screen at its delivery.")
    }
    public static func extensionNotRunning(_ id: String) -> Self {
        Self(
            .conflict, "service_extension_not_running", "Service extension is not running",
            "No service extension runs for the notification \(id): its time is over, it has returned, or the "
                + "notification needs none.")
    }
    public static func extensionRunning(_ id: String) -> Self {
        Self(
            .conflict, "service_extension_running", "Service extension is running",
            "The service extension of the notification \(id) runs first: send its content, or wait until its time is over."
        )
    }
    public static func notificationNotShown(_ id: String) -> Self {
        Self(
            .conflict, "notification_not_shown", "Notification is not shown",
            "The device does not show the notification \(id).")
    }
    public static func actionUnknown(_ action: String) -> Self {
        Self(
            .conflict, "notification_action_unknown", "Notification has no such action",
            "The category of the notification has no action \(action). The app sets its categories while it runs.")
    }
    public static func textMissing(_ action: String) -> Self {
        Self(
            .unprocessable, "user_text_missing", "Text of the user is missing",
            "The action \(action) is a text input action: send the member userText.")
    }
    public static func textUnexpected(_ action: String) -> Self {
        Self(
            .unprocessable, "user_text_unexpected", "Action takes no text",
            "The action \(action) is no text input action: remove the member userText.")
    }
    public static func deviceLocked(_ action: String) -> Self {
        Self(
            .conflict, "device_locked", "Device is locked",
            "The action \(action) needs an unlocked device: report the unlocking to lifecycle first.")
    }
    public static let noRoomForCategories = Self(
        .conflict, "too_many_categories", "Device has too many notification categories",
        "The categories of all apps of a device may have 16 KiB, or less if its tokens, channels and Live Activities "
            + "need the room: set fewer categories or shorter identifiers.")
    public static let badDeviceToken = Self(
        .invalid, "bad_device_token", "Device token is unknown", "No device has this token in this environment.")
    public static let deviceTokenNotForTopic = Self(
        .invalid, "device_token_not_for_topic", "Device token does not match the topic",
        "The token belongs to another app, or its kind does not accept the push type.")
    public static let notSubscribed = Self(
        .conflict, "not_subscribed", "App is not subscribed to the channel",
        "The app is not subscribed to this channel.")
    public static func unregistered(since: Instant) -> Self {
        Self(
            .gone(since: since), "unregistered", "Device token is inactive",
            "The token has been inactive since \(since).")
    }
    /// The token has been inactive for at least ``PushPolicy/tokenExpiry``.
    public static func expiredToken(since: Instant) -> Self {
        Self(
            .gone(since: since), "expired_token", "Device token is expired",
            "The token has been inactive since \(since) and is expired.")
    }
}
