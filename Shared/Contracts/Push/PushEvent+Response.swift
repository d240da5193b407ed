public import Records

extension PushEvent {
    /// An app set its notification categories.
    public struct CategoriesChanged: EventData {
        public static let type = "push.categories.changed"

        public var app: Nullable<String>
        /// All categories of the app from now on.
        public var categories: [NotificationCategory]
    }

    /// The user chose an action of a notification that does not open its app, or dismissed a notification of a category
    /// with `customDismissAction`.
    public struct NotificationResponded: EventData {
        public static let type = "push.notification.responded"

        /// The action, or `UNNotificationDismissActionIdentifier`.
        public var actionIdentifier: String
        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .responded
        /// The text that the user wrote.
        public var userText: String?
    }

    /// The user dismissed a notification, and its app does not learn of it.
    public struct NotificationDismissed: EventData {
        public static let type = "push.notification.dismissed"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .dismissed
    }
}

/// `UNNotificationCategory`, before iOS 10 `UIUserNotificationCategory`.
public struct NotificationCategory: Record, Equatable {
    /// The largest number of actions. Our choice.
    public static let actionLimit = 10

    public var actions: Defaulted<[NotificationAction]> = []
    public var identifier: String
    public var options: Defaulted<[NotificationCategoryOption]> = []

    enum Constraints {
        static let actions: Constraint<[NotificationAction]> = .actions
        static let identifier: Constraint<String> = .text(1...128)
        static let options: Constraint<[NotificationCategoryOption]> = .count(
            0...NotificationCategoryOption.allCases.count)
    }
}

/// `UNNotificationAction`, before iOS 10 `UIUserNotificationAction`.
public struct NotificationAction: Record, Equatable {
    public var identifier: String
    public var options: Defaulted<[NotificationActionOption]> = []
    /// Whether it is a `UNTextInputNotificationAction`.
    public var textInput: Defaulted<Bool> = false

    enum Constraints {
        static let identifier: Constraint<String> = .text(1...128)
        static let options: Constraint<[NotificationActionOption]> = .count(0...NotificationActionOption.allCases.count)
    }

    /// Whether the user must unlock the device first. Apple, `UIUserNotificationAction.isAuthenticationRequired`: the
    /// foreground mode implies it.
    public var needsUnlock: Bool { options.contains(.authenticationRequired) || options.contains(.foreground) }
}

/// `UNNotificationActionOptions`.
public enum NotificationActionOption: String, WireEnum {
    case authenticationRequired
    /// It has no effect on the rules.
    case destructive
    case foreground
}

/// `UNNotificationCategoryOptions`. Only `customDismissAction` has an effect on the rules.
public enum NotificationCategoryOption: String, WireEnum {
    case allowInCarPlay, customDismissAction, hiddenPreviewsShowSubtitle, hiddenPreviewsShowTitle
}

/// `UNNotificationResponse`: the user's response to a notification.
public struct NotificationResponse: Record, Equatable {
    /// `UNNotificationDefaultActionIdentifier`: the user opens the notification.
    public static let defaultAction = "com.apple.UNNotificationDefaultActionIdentifier"
    /// `UNNotificationDismissActionIdentifier`: the user dismisses the notification.
    public static let dismissAction = "com.apple.UNNotificationDismissActionIdentifier"

    /// An action of the notification's category, or one of the two identifiers of the system.
    public var actionIdentifier: Defaulted<String> = NotificationResponse.defaultAction
    /// The text of a text input action.
    public var userText: String?

    enum Constraints {
        static let actionIdentifier: Constraint<String> = .text(1...128)
        static let userText: Constraint<String> = .content
    }
}

extension Constraint where T == [NotificationAction] {
    fileprivate static var actions: Constraint<[NotificationAction]> {
        Constraint(
            "must be at most \(NotificationCategory.actionLimit) actions with different identifiers",
            keywords: [("maxItems", .int(NotificationCategory.actionLimit))]
        ) { $0.count <= NotificationCategory.actionLimit && Set($0.map(\.identifier)).count == $0.count }
    }
}

extension Constraint where T == [NotificationCategory] {
    /// At most 16 categories, to limit the size of the device's state.
    public static var notificationCategories: Constraint<[NotificationCategory]> {
        Constraint(
            "must be at most 16 categories with different identifiers", keywords: [("maxItems", 16)]
        ) { $0.count <= 16 && Set($0.map(\.identifier)).count == $0.count }
    }
}
