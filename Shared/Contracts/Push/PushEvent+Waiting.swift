public import Records
public import Timeline

extension PushEvent {
    /// A notification waits in the store of its app.
    public struct NotificationStored: EventData {
        public static let type = "push.notification.stored"

        public var app: Nullable<String>
        /// When it is sent even if the device sleeps.
        public var due: Instant?
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .storedOffline
        /// When it expires.
        public var until: Instant
    }

    /// A silent notification is held back.
    public struct NotificationHeld: EventData {
        public static let type = "push.notification.held"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .heldBudget
        /// When the budget lets it go; nil where that is not known.
        public var until: Instant?
    }

    /// A held notification goes on its way.
    public struct NotificationReleased: EventData {
        public static let type = "push.notification.released"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .releasedBudget
    }
}
