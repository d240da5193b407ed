public import Records

extension PushEvent {
    /// An alert whose app was to be woken first is shown now.
    public struct NotificationPresented: EventData {
        public static let type = "push.notification.presented"
        public static let summary = "An alert whose app was to be woken first is shown now."

        public var app: String?
        public var cause: PresentationCause = .completed
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .presented

        public init() {}

        public init(
            app: String?, cause: PresentationCause, notification: String, pushType: PushType? = nil,
            status: ConsoleStatus = .presented
        ) {
            self.app = app
            self.cause = cause
            self.notification = notification
            self.pushType = pushType
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("cause", &cause)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
        }
    }

    /// The user opened a notification that the device shows: its app comes on screen.
    public struct NotificationOpened: EventData {
        public static let type = "push.notification.opened"
        public static let summary = "The user opened a notification that the device shows: its app comes on screen."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .opened

        public init() {}

        public init(app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .opened) {
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
