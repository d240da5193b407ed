public import Records
public import Timeline

extension LifecycleEvent {
    /// The app was told to end, and has a moment for it.
    public struct AppTerminating: EventData {
        public static let type = "lifecycle.app.terminating"
        public static let summary = "The app was told to end, and has a moment for it."

        public var app: String?
        /// Delivered to the app, in this order; the last is `willTerminate`.
        public var callbacks: [Callback] = []
        /// When `willTerminate` must have returned; the watchdog ends the app then.
        public var deadline: Instant = .epoch
        /// Why it ends.
        public var reason: EndReason = .placeholder
        /// The state after it.
        public var state: AppState = .background

        public init() {}

        public init(
            app: String, callbacks: [Callback], deadline: Instant, reason: EndReason, state: AppState = .background
        ) {
            self.app = app
            self.callbacks = callbacks
            self.deadline = deadline
            self.reason = reason
            self.state = state
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("callbacks", &callbacks)
            fields.field("deadline", &deadline)
            fields.field("reason", &reason)
            fields.field("state", &state)
        }
    }

    /// The app's process ended.
    public struct AppTerminated: EventData {
        public static let type = "lifecycle.app.terminated"
        public static let summary = "The app's process ended."

        public var app: String?
        /// Of the background tasks, in seconds; nil in the foreground.
        public var backgroundTimeRemaining: Interval?
        /// Delivered to the app, in this order.
        public var callbacks: [Callback] = []
        /// Apple's exit code, where the system killed it.
        public var code: TerminationCode?
        /// The state before; `notRunning` where only the switcher's entry was swiped away.
        public var from: AppState = .placeholder
        public var reason: EndReason = .placeholder
        /// Seconds that the process lived.
        public var sinceLaunch: Interval?
        /// The state after it.
        public var state: AppState = .notRunning

        public init() {}

        public init(
            app: String, backgroundTimeRemaining: Interval? = nil, callbacks: [Callback],
            code: TerminationCode? = nil, from: AppState, reason: EndReason, sinceLaunch: Interval? = nil,
            state: AppState = .notRunning
        ) {
            self.app = app
            self.backgroundTimeRemaining = backgroundTimeRemaining
            self.callbacks = callbacks
            self.code = code
            self.from = from
            self.reason = reason
            self.sinceLaunch = sinceLaunch
            self.state = state
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("backgroundTimeRemaining", &backgroundTimeRemaining)
            fields.field("callbacks", &callbacks)
            fields.omittable("code", &code)
            fields.field("from", &from)
            fields.field("reason", &reason)
            fields.omittable("sinceLaunch", &sinceLaunch)
            fields.field("state", &state)
        }
    }
}
