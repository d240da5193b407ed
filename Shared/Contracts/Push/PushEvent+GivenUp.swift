public import Records

extension PushEvent {
    /// A newer notification took its place.
    public struct NotificationReplaced: EventData {
        public static let type = "push.notification.replaced"
        public static let summary = "A newer notification took its place."

        public var app: String?
        /// The newer one.
        public var by: String = ""
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .replaced

        public init() {}

        public init(
            app: String?, by: String, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .replaced
        ) {
            self.app = app
            self.by = by
            self.notification = notification
            self.pushType = pushType
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("by", &by)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
        }
    }

    /// A notification is given up.
    public struct NotificationDiscarded: EventData {
        public static let type = "push.notification.discarded"
        public static let summary = "A notification is given up."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        /// Why the app could not be woken, where that is the cause.
        public var refusal: WakeRefusal?
        public var status: ConsoleStatus = .discardedExpired

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, refusal: WakeRefusal? = nil,
            status: ConsoleStatus = .discardedExpired
        ) {
            self.app = app
            self.notification = notification
            self.pushType = pushType
            self.refusal = refusal
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.omittable("refusal", &refusal)
            fields.field("status", &status)
        }
    }
}
