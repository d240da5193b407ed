public import Records

extension PushEvent {
    /// A notification asks for its app to be woken, before anything of it is shown.
    public struct WakeRequested: EventData {
        public static let type = "push.wake.requested"
        public static let summary = "A notification asks for its app to be woken, before anything of it is shown."

        public var app: String?
        /// The notification's `apns-unique-id`: names it in everything that follows.
        public var notification: String = ""
        /// What the provider sent.
        public var payload: JSON = .null
        /// `voip` announces a call.
        public var pushType: PushType?

        public init() {}

        public init(app: String?, notification: String, payload: JSON, pushType: PushType? = nil) {
            self.app = app
            self.notification = notification
            self.payload = payload
            self.pushType = pushType
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.field("payload", &payload)
            fields.omittable("pushType", &pushType)
        }
    }

    /// The app was woken for a notification.
    public struct WakeGranted: EventData {
        public static let type = "push.wake.granted"
        public static let summary = "The app was woken for a notification."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .wokeApp
        public var wake: String = ""

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .wokeApp,
            wake: String
        ) {
            self.app = app
            self.notification = notification
            self.pushType = pushType
            self.status = status
            self.wake = wake
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.field("status", &status)
            fields.field("wake", &wake)
        }
    }

    /// The app is done with a notification.
    public struct WakeCompleted: EventData {
        public static let type = "push.wake.completed"
        public static let summary = "The app is done with a notification."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var result: WakeResult?
        public var status: ConsoleStatus = .completed

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, result: WakeResult? = nil,
            status: ConsoleStatus = .completed
        ) {
            self.app = app
            self.notification = notification
            self.pushType = pushType
            self.result = result
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.omittable("pushType", &pushType)
            fields.omittable("result", &result)
            fields.field("status", &status)
        }
    }

    /// The app was not woken for a notification.
    public struct WakeRefused: EventData {
        public static let type = "push.wake.refused"
        public static let summary = "The app was not woken for a notification."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var refusal: WakeRefusal = .placeholder
        public var status: ConsoleStatus = .wakeRefused

        public init() {}

        public init(
            app: String?, notification: String, pushType: PushType? = nil, refusal: WakeRefusal,
            status: ConsoleStatus = .wakeRefused
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
            fields.field("refusal", &refusal)
            fields.field("status", &status)
        }
    }

    /// The app ended before it was done with a notification, or its wake is not awaited.
    public struct WakeEnded: EventData {
        public static let type = "push.wake.ended"
        public static let summary = "The app ended before it was done with a notification, or its wake is not awaited."

        public var app: String?
        public var notification: String = ""
        public var pushType: PushType?
        public var status: ConsoleStatus = .wakeEnded

        public init() {}

        public init(app: String?, notification: String, pushType: PushType? = nil, status: ConsoleStatus = .wakeEnded) {
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
