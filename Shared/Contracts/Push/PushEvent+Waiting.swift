public import Records
public import Timeline

extension PushEvent {
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

    /// A silent notification was held back.
    public struct NotificationHeld: EventData {
        public static let type = "push.notification.held"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .heldBudget
        /// The time at which the budget releases the notification; nil if unknown.
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
}
