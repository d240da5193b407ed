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
