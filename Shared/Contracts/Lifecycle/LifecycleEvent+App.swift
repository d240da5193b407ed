public import Records
public import Timeline

extension LifecycleEvent {
    /// An app was installed, or updated to a new manifest.
    public struct AppInstalled: EventData {
        public static let type = "lifecycle.app.installed"
        public static let summary = "An app was installed, or updated to a new manifest."

        public var app: String?
        public var manifest: Manifest = .placeholder

        public init() {}

        public init(app: String, manifest: Manifest) {
            self.app = app
            self.manifest = manifest
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("manifest", &manifest)
        }
    }

    /// An app is gone, with everything that it held.
    public struct AppUninstalled: EventData {
        public static let type = "lifecycle.app.uninstalled"
        public static let summary = "An app is gone, with everything that it held."

        public var app: String?

        public init() {}

        public init(app: String) {
            self.app = app
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
        }
    }

    /// The system made a process for an app ahead of its launch; its code does not run yet.
    public struct AppPrewarmed: EventData {
        public static let type = "lifecycle.app.prewarmed"
        public static let summary =
            "The system made a process for an app ahead of its launch; its code does not run yet."

        public var app: String?

        public init() {}

        public init(app: String) {
            self.app = app
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
        }
    }

    /// The user launched an app that was not running.
    public struct AppLaunched: EventData {
        public static let type = "lifecycle.app.launched"
        public static let summary = "The user launched an app that was not running."

        public var app: String?
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .active
        /// When the launch handlers must have returned; nil where they return at once.
        public var deadline: Instant?

        public init() {}

        public init(app: String, callbacks: [Callback], state: AppState = .active, deadline: Instant? = nil) {
            self.app = app
            self.callbacks = callbacks
            self.state = state
            self.deadline = deadline
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.omittable("deadline", &deadline)
            fields.field("state", &state)
        }
    }

    /// An app became the active one.
    public struct AppActivated: EventData {
        public static let type = "lifecycle.app.activated"
        public static let summary = "An app became the active one."

        public var app: String?
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .active

        public init() {}

        public init(app: String, callbacks: [Callback], state: AppState = .active) {
            self.app = app
            self.callbacks = callbacks
            self.state = state
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("state", &state)
        }
    }

    /// An active app was interrupted.
    public struct AppResigned: EventData {
        public static let type = "lifecycle.app.resigned"
        public static let summary = "An active app was interrupted."

        public var app: String?
        public var cause: AppTransition = .placeholder
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .inactive

        public init() {}

        public init(app: String, cause: AppTransition, callbacks: [Callback], state: AppState = .inactive) {
            self.app = app
            self.cause = cause
            self.callbacks = callbacks
            self.state = state
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("cause", &cause)
            fields.field("state", &state)
        }
    }

    /// The foreground app went to the background.
    public struct AppBackgrounded: EventData {
        public static let type = "lifecycle.app.backgrounded"
        public static let summary = "The foreground app went to the background."

        public var app: String?
        public var cause: BackgroundCause = .placeholder
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .background
        /// When `didEnterBackground` must have returned; nil where it returns at once.
        public var deadline: Instant?
        /// What background tasks get from now on, app-wide; in seconds.
        public var taskTime: Interval = .zero

        public init() {}

        public init(
            app: String, cause: BackgroundCause, callbacks: [Callback], state: AppState = .background,
            deadline: Instant? = nil, taskTime: Interval
        ) {
            self.app = app
            self.cause = cause
            self.callbacks = callbacks
            self.state = state
            self.deadline = deadline
            self.taskTime = taskTime
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("cause", &cause)
            fields.omittable("deadline", &deadline)
            fields.field("state", &state)
            fields.field("taskTime", &taskTime)
        }
    }

    /// No work was left in the background: the app's code stands still.
    public struct AppSuspended: EventData {
        public static let type = "lifecycle.app.suspended"
        public static let summary = "No work was left in the background: the app's code stands still."

        public var app: String?
        /// None: nothing tells an app that it is suspended.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .suspended

        public init() {}

        public init(app: String, callbacks: [Callback] = [], state: AppState = .suspended) {
            self.app = app
            self.callbacks = callbacks
            self.state = state
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("state", &state)
        }
    }

    /// A handler of the app returned within its limit.
    public struct CallbackCompleted: EventData {
        public static let type = "lifecycle.callback.completed"
        public static let summary = "A handler of the app returned within its limit."

        public var app: String?
        public var callback: Callback = .placeholder
        /// What the app shows in the switcher from now on.
        public var snapshotLabel: String?

        public init() {}

        public init(app: String, callback: Callback, snapshotLabel: String? = nil) {
            self.app = app
            self.callback = callback
            self.snapshotLabel = snapshotLabel
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callback", &callback)
            fields.omittable("snapshotLabel", &snapshotLabel)
        }
    }
}
