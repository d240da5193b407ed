public import Records

extension PushEvent {
    /// A notification went to its device.
    public struct NotificationDelivered: EventData {
        public static let type = "push.notification.delivered"
        public static let summary = "A notification went to its device."

        public var app: String?
        public var apnsID: String = ""
        /// The broadcast channel that it came by.
        public var channel: String?
        public var collapseID: String?
        public var fromStorage: Bool = false
        public var notification: String = ""
        public var payload: JSON = .null
        public var priority: Int = 10
        public var pushType: PushType = .alert
        public var silent: Bool = false
        public var status: ConsoleStatus = .delivered

        public init() {}

        public init(
            app: String?, apnsID: String, channel: String? = nil, collapseID: String? = nil, fromStorage: Bool,
            notification: String,
            payload:
                JSON, priority: Int, pushType: PushType, silent: Bool, status: ConsoleStatus = .delivered
        ) {
            self.app = app
            self.apnsID = apnsID
            self.channel = channel
            self.collapseID = collapseID
            self.fromStorage = fromStorage
            self.notification = notification
            self.payload = payload
            self.priority = priority
            self.pushType = pushType
            self.silent = silent
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("apnsID", &apnsID)
            fields.omittable("channel", &channel)
            fields.omittable("collapseID", &collapseID)
            fields.field("fromStorage", &fromStorage)
            fields.field("notification", &notification)
            fields.field("payload", &payload)
            fields.field("priority", &priority)
            fields.field("pushType", &pushType)
            fields.field("silent", &silent)
            fields.field("status", &status)
        }
    }

    /// The device has the notification.
    public struct NotificationAcknowledged: EventData {
        public static let type = "push.notification.acknowledged"
        public static let summary = "The device has the notification."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .acknowledged

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .acknowledged
        ) {
            self.app = app
            self.notification = notification
            self.pushType = pushType
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
        }
    }
}
