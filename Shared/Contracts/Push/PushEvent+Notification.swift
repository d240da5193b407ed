public import Records
public import Timeline

extension PushEvent {
    /// A provider sent a notification.
    public struct NotificationReceived: EventData {
        public static let type = "push.notification.received"

        /// The Live Activity of the token; nil for other kinds.
        public var activity: String?
        public var app: Nullable<String>
        /// The `apns-id`.
        public var apnsID: String
        /// The broadcast channel of the notification; nil if it was sent to a device token.
        public var channel: String?
        public var collapseID: String?
        /// Whether the device shows it to the user: a push of type `alert` or `background` with an alert.
        public var forUser: Bool
        /// The kind of the device token; `apns` for broadcasts.
        public var kind: TokenKind = .apns
        /// Whether `apns-expiration` is 0: one attempt without storage.
        public var neverStored: Bool
        public var notification: String
        public var payload: JSON
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Whether the notification is silent: of type `alert` or `background`, with `content-available`, and without
        /// alert, sound or badge.
        public var silent: Bool
        public var status: ConsoleStatus = .received
        public var topic: String
        /// The suite time at which the notification expires.
        public var until: Instant
    }

    /// A notification was sent to its device.
    public struct NotificationDelivered: EventData {
        public static let type = "push.notification.delivered"

        public var app: Nullable<String>
        public var apnsID: String
        /// Whether the notification arrives with its delivery, because its app is on screen: its `willPresent` gets an
        /// alert, its handler a silent notification.
        public var arrived: Bool
        /// The broadcast channel of the notification; nil if it was sent to a device token.
        public var channel: String?
        public var collapseID: String?
        /// The time until which the service extension of the app may change the content; nil if it does not run.
        public var extensionDeadline: Instant?
        public var fromStorage: Bool
        /// The time at which the budget of its Live Activity is full again; nil for a delivery that costs nothing.
        public var fullAt: Instant?
        public var notification: String
        public var payload: JSON
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Whether the device adds the alert to the Notification Center without lighting up the screen or a sound.
        public var quiet: Bool
        /// Why it is quiet; nil if it is not.
        public var quietCause: QuietCause?
        public var silent: Bool
        public var status: ConsoleStatus = .delivered
        /// The time of the scheduled summary for which the device holds the alert; nil if it shows the alert at once.
        public var summaryAt: Instant?
        /// Whether the app is on screen, so that its `willPresent` decides whether the device shows the notification.
        public var willPresent: Bool
    }

    /// A device acknowledged a notification.
    public struct NotificationAcknowledged: EventData {
        public static let type = "push.notification.acknowledged"

        public var app: Nullable<String>
        /// Whether the notification arrives with the acknowledgement: an alert that the device shows now, or a
        /// notification that is neither an alert nor silent.
        public var arrived: Bool
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .acknowledged
    }

    /// A notification was stored for later delivery.
    public struct NotificationStored: EventData {
        public static let type = "push.notification.stored"

        public var app: Nullable<String>
        /// The time at which the notification is sent even if the device sleeps.
        public var due: Instant?
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .storedOffline
        /// The time at which the notification expires.
        public var until: Instant
    }

    /// A silent notification was held back, or the device holds an alert for the scheduled summary.
    public struct NotificationHeld: EventData {
        public static let type = "push.notification.held"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .heldBudget
        /// The time at which the budget releases the notification, or that of the summary; nil if unknown.
        public var until: Instant?
    }

    /// A held notification was released.
    public struct NotificationReleased: EventData {
        public static let type = "push.notification.released"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .releasedBudget
    }

    /// A newer notification replaced a notification.
    public struct NotificationReplaced: EventData {
        public static let type = "push.notification.replaced"

        public var app: Nullable<String>
        /// The newer notification.
        public var by: String
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .replaced
    }

    /// APNs refused a push for the token of a known device. The provider had a valid credential.
    public struct NotificationRefused: EventData {
        public static let type = "push.notification.refused"

        /// The bundle identifier in the topic.
        public var app: Nullable<String>
        /// The `apns-id`.
        public var apnsID: String
        public var collapseID: String?
        /// Whether a device would show it to the user.
        public var forUser: Bool
        public var notification: String
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Whether it is silent, as in ``NotificationReceived``.
        public var silent: Bool
        public var status: ConsoleStatus = .refusedUnregistered
        public var topic: String
    }

    /// A notification was discarded.
    public struct NotificationDiscarded: EventData {
        public static let type = "push.notification.discarded"

        public var app: Nullable<String>
        /// The reason why the process of the app ended, if that is the cause.
        public var end: EndReason?
        public var notification: String
        public var pushType: PushType?
        /// The reason why the app could not be woken, if that is the cause.
        public var refusal: WakeRefusal?
        public var status: ConsoleStatus = .discardedExpired
    }

    /// The device showed an alert: after the attempt to wake its app, or because the app on screen chose it.
    public struct NotificationPresented: EventData {
        public static let type = "push.notification.presented"

        public var app: Nullable<String>
        public var cause: PresentationCause = .completed
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .presented
    }

    /// The user opened a notification, and its app came on screen.
    public struct NotificationOpened: EventData {
        public static let type = "push.notification.opened"

        /// The action with the option `foreground`; nil for the default action.
        public var actionIdentifier: String?
        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .opened
        /// The text that the user wrote.
        public var userText: String?
    }
}
