public import Records
public import Timeline

extension PushEvent {
    /// A notification waits in the store of its app.
    public struct NotificationStored: EventData {
        public static let type = "push.notification.stored"
        public static let summary = "A notification waits in the store of its app."

        public var app: String?
        /// When it is sent even if the device sleeps.
        public var due: Instant?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .storedOffline
        /// When it expires.
        public var until: Instant = .epoch

        public init() {}

        public init(
            app: String?, due: Instant? = nil, notification: String, pushType: PushType? = nil,
            status: ConsoleStatus = .storedOffline,
            until:
                Instant
        ) {
            self.app = app
            self.due = due
            self.notification = notification
            self.pushType = pushType
            self.status = status
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("due", &due)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
            fields.field("until", &until)
        }
    }

    /// A silent notification is held back.
    public struct NotificationHeld: EventData {
        public static let type = "push.notification.held"
        public static let summary = "A silent notification is held back."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .heldBudget
        /// When the budget lets it go; nil where that is not known.
        public var until: Instant?

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .heldBudget,
            until: Instant? = nil
        ) {
            self.app = app
            self.notification = notification
            self.pushType = pushType
            self.status = status
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
            fields.omittable("until", &until)
        }
    }

    /// A held notification goes on its way.
    public struct NotificationReleased: EventData {
        public static let type = "push.notification.released"
        public static let summary = "A held notification goes on its way."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .releasedBudget

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .releasedBudget
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
