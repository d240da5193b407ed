public import Records
public import Timeline

extension PushEvent {
    /// A provider sent a notification.
    public struct NotificationReceived: EventData {
        public static let type = "push.notification.received"

        public var app: Nullable<String>
        /// The `apns-id`.
        public var apnsID: String
        /// The broadcast channel of the notification; nil if it was sent to a device token.
        public var channel: String?
        public var collapseID: String?
        /// Whether `apns-expiration` is 0: one attempt without storage.
        public var neverStored: Bool
        public var notification: String
        public var payload: JSON
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Whether the notification is silent: `content-available` without alert, sound or badge.
        public var silent: Bool
        public var status: ConsoleStatus = .received
        public var topic: String
        /// The suite time at which the notification expires.
        public var until: Instant
    }
}
