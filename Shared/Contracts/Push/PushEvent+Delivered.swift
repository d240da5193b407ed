public import Records

extension PushEvent {
    /// A notification was sent to its device.
    public struct NotificationDelivered: EventData {
        public static let type = "push.notification.delivered"

        public var app: Nullable<String>
        public var apnsID: String
        /// The broadcast channel of the notification; nil if it was sent to a device token.
        public var channel: String?
        public var collapseID: String?
        public var fromStorage: Bool
        public var notification: String
        public var payload: JSON
        public var priority: Int = 10
        public var pushType: PushType = .alert
        public var silent: Bool
        public var status: ConsoleStatus = .delivered
    }

    /// A device acknowledged a notification.
    public struct NotificationAcknowledged: EventData {
        public static let type = "push.notification.acknowledged"

        public var app: Nullable<String>
        public var notification: String
        public var pushType: PushType?
        public var status: ConsoleStatus = .acknowledged
    }
}
