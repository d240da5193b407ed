public import Records
public import Timeline

extension PushEvent {
    /// A provider sent a notification.
    public struct NotificationReceived: EventData {
        public static let type = "push.notification.received"
        public static let summary = "A provider sent a notification."

        public var app: String?
        /// The `apns-id`.
        public var apnsID: String = ""
        /// The broadcast channel that it came by.
        public var channel: String?
        public var collapseID: String?
        /// One attempt: `apns-expiration` was 0.
        public var neverStored: Bool = false
        public var notification: String = ""
        public var payload: JSON = .null
        public var priority: Int = 10
        public var pushType: PushType = .alert
        /// Content-available without alert, sound or badge.
        public var silent: Bool = false
        public var status: ConsoleStatus = .received
        public var topic: String = ""
        /// When it is given up at the latest, by the suite's clock.
        public var until: Instant = .epoch

        public init() {}

        public init(
            app: String?, apnsID: String, channel: String? = nil, collapseID: String? = nil, neverStored: Bool,
            notification: String,
            payload:
                JSON, priority: Int, pushType: PushType, silent: Bool, status: ConsoleStatus = .received, topic: String,
            until: Instant
        ) {
            self.app = app
            self.apnsID = apnsID
            self.channel = channel
            self.collapseID = collapseID
            self.neverStored = neverStored
            self.notification = notification
            self.payload = payload
            self.priority = priority
            self.pushType = pushType
            self.silent = silent
            self.status = status
            self.topic = topic
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("apnsID", &apnsID)
            fields.omittable("channel", &channel)
            fields.omittable("collapseID", &collapseID)
            fields.field("neverStored", &neverStored)
            fields.field("notification", &notification)
            fields.field("payload", &payload)
            fields.field("priority", &priority)
            fields.field("pushType", &pushType)
            fields.field("silent", &silent)
            fields.field("status", &status)
            fields.field("topic", &topic)
            fields.field("until", &until)
        }
    }
}
