public import Records

extension LifecycleEvent {
    /// An app began what may keep it running in the background.
    public struct ActivityStarted: EventData {
        public static let type = "lifecycle.activity.started"
        public static let summary = "An app began what may keep it running in the background."

        public var app: String?
        public var activity: ActivityKind = .placeholder
        public var request: ActivityRequest = .placeholder

        public init() {}

        public init(app: String, activity: ActivityKind, request: ActivityRequest) {
            self.app = app
            self.activity = activity
            self.request = request
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("activity", &activity)
            fields.field("app", &app)
            fields.field("request", &request)
        }
    }

    /// An app no longer does what kept it running in the background.
    public struct ActivityStopped: EventData {
        public static let type = "lifecycle.activity.stopped"
        public static let summary = "An app no longer does what kept it running in the background."

        public var app: String?
        public var activity: ActivityKind = .placeholder
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        public var cause: ActivityEnd = .placeholder

        public init() {}

        public init(app: String, activity: ActivityKind, callbacks: [Callback], cause: ActivityEnd) {
            self.app = app
            self.activity = activity
            self.callbacks = callbacks
            self.cause = cause
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("activity", &activity)
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("cause", &cause)
        }
    }

    /// An app's code did something that may cost its life, or that the user may see.
    public struct ActionReported: EventData {
        public static let type = "lifecycle.action.reported"
        public static let summary = "An app's code did something that may cost its life, or that the user may see."

        public var app: String?
        public var action: ActionReport = .placeholder
        /// Of a local notification: whether the user sees it.
        public var shown: Bool?

        public init() {}

        public init(app: String, action: ActionReport, shown: Bool? = nil) {
            self.app = app
            self.action = action
            self.shown = shown
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("action", &action)
            fields.field("app", &app)
            fields.omittable("shown", &shown)
        }
    }
}
