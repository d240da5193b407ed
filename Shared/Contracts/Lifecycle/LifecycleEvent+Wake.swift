public import Records
public import Timeline

extension LifecycleEvent {
    /// The system let an app run in the background, for a reason and a limited time.
    public struct AppWoken: EventData {
        public static let type = "lifecycle.app.woken"
        public static let summary = "The system let an app run in the background, for a reason and a limited time."

        public var app: String?
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// When the app is killed unless the wake was completed.
        public var deadline: Instant = .epoch
        /// False for a task without an expiration handler: such a wake kills nobody, the system completes it as unsuccessful.
        public var expirationHandler: Bool?
        /// The state before.
        public var from: AppState = .placeholder
        /// What exactly it is for, where the reason has several kinds.
        public var kind: WakeKind?
        /// In seconds.
        public var limit: Interval = .zero
        /// What the handler is given: of a push, what the provider sent.
        public var payload: JSON?
        public var reason: WakeReason = .placeholder
        /// Whose wake it is: the id of the fetch or of the notification, or the identifier of the session.
        public var request: String?
        /// The state after it.
        public var state: AppState = .background
        /// What background tasks get in this run, in seconds; nil where the app already ran.
        public var taskTime: Interval?
        public var wake: String = ""

        public init() {}

        public init(
            app: String, callbacks: [Callback], deadline: Instant, expirationHandler: Bool? = nil, from: AppState,
            kind: WakeKind? = nil, limit: Interval, payload: JSON? = nil, reason: WakeReason, request: String? = nil,
            state: AppState = .background, taskTime: Interval? = nil, wake: String
        ) {
            self.app = app
            self.callbacks = callbacks
            self.deadline = deadline
            self.expirationHandler = expirationHandler
            self.from = from
            self.kind = kind
            self.limit = limit
            self.payload = payload
            self.reason = reason
            self.request = request
            self.state = state
            self.taskTime = taskTime
            self.wake = wake
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("deadline", &deadline)
            fields.omittable("expirationHandler", &expirationHandler)
            fields.field("from", &from)
            fields.omittable("kind", &kind)
            fields.field("limit", &limit)
            fields.omittable("payload", &payload)
            fields.field("reason", &reason)
            fields.omittable("request", &request)
            fields.field("state", &state)
            fields.omittable("taskTime", &taskTime)
            fields.field("wake", &wake)
        }
    }

    /// The app finished what it was woken for, and the switcher got a new snapshot. The system does it in the place of a task
    /// without an expiration handler, as unsuccessful.
    public struct WakeCompleted: EventData {
        public static let type = "lifecycle.wake.completed"
        public static let summary = "The app finished what it was woken for, and the switcher got a new snapshot."

        public var app: String?
        /// What the handler loaded, as the device says.
        public var bytesReceived: Int?
        public var kind: WakeKind?
        public var reason: WakeReason = .placeholder
        /// Whose wake it was.
        public var request: String?
        /// What the app found, where the reason asks for it.
        public var result: WakeResult?
        /// What the app shows in the switcher from now on.
        public var snapshotLabel: String?
        /// `setTaskCompleted(success:)`, of a task request.
        public var success: Bool?
        public var wake: String = ""

        public init() {}

        public init(
            app: String, bytesReceived: Int? = nil, kind: WakeKind? = nil, reason: WakeReason, request: String? = nil,
            result: WakeResult? = nil, snapshotLabel: String? = nil, success: Bool? = nil, wake: String
        ) {
            self.app = app
            self.bytesReceived = bytesReceived
            self.kind = kind
            self.reason = reason
            self.request = request
            self.result = result
            self.snapshotLabel = snapshotLabel
            self.success = success
            self.wake = wake
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("bytesReceived", &bytesReceived)
            fields.omittable("kind", &kind)
            fields.field("reason", &reason)
            fields.omittable("request", &request)
            fields.omittable("result", &result)
            fields.omittable("snapshotLabel", &snapshotLabel)
            fields.omittable("success", &success)
            fields.field("wake", &wake)
        }
    }

    /// An app was not woken, and why.
    public struct WakeRefused: EventData {
        public static let type = "lifecycle.wake.refused"
        public static let summary = "An app was not woken, and why."

        public var app: String?
        public var kind: WakeKind?
        public var reason: WakeReason = .placeholder
        public var refusal: WakeRefusal = .placeholder
        /// Whose wake it would have been.
        public var request: String?

        public init() {}

        public init(
            app: String, kind: WakeKind? = nil, reason: WakeReason, refusal: WakeRefusal, request: String? = nil
        ) {
            self.app = app
            self.kind = kind
            self.reason = reason
            self.refusal = refusal
            self.request = request
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("kind", &kind)
            fields.field("reason", &reason)
            fields.field("refusal", &refusal)
            fields.omittable("request", &request)
        }
    }

    /// The time of a wake is nearly over, or was cut short, and its handler is told so.
    public struct WakeExpiring: EventData {
        public static let type = "lifecycle.wake.expiring"
        public static let summary = "The time of a wake is nearly over, and its handler is told so."

        public var app: String?
        /// When the app is killed unless the wake was completed; earlier than it was where the time is cut short.
        public var deadline: Instant = .epoch
        public var request: String?
        public var wake: String = ""

        public init() {}

        public init(app: String, deadline: Instant, request: String?, wake: String) {
            self.app = app
            self.deadline = deadline
            self.request = request
            self.wake = wake
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("deadline", &deadline)
            fields.omittable("request", &request)
            fields.field("wake", &wake)
        }
    }

    /// The time of a wake that nobody has to complete was over. Nothing is killed for that.
    public struct WakeExpired: EventData {
        public static let type = "lifecycle.wake.expired"
        public static let summary =
            "The time of a wake that nobody has to complete was over. Nothing is killed for that."

        public var app: String?
        public var request: String?
        public var wake: String = ""

        public init() {}

        public init(app: String, request: String?, wake: String) {
            self.app = app
            self.request = request
            self.wake = wake
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("request", &request)
            fields.field("wake", &wake)
        }
    }
}
