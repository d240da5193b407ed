public import Records
public import Timeline

extension PushEvent {
    /// A provider sent a notification.
    public struct NotificationReceived: EventData {
        public static let type = "push.notification.received"

        public var app: Nullable<String>
        /// The `apns-id`.
        public var apnsID: String
        /// The broadcast channel that it came by.
        public var channel: String?
        public var collapseID: String?
        /// One attempt: `apns-expiration` was 0.
        public var neverStored: Bool
        public var notification: String
        public var payload: JSON
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Content-available without alert, sound or badge.
        public var silent: Bool
        public var status: ConsoleStatus = .received
        public var topic: String
        /// When it is given up at the latest, by the suite's clock.
        public var until: Instant
    }
}
