public import Records
public import Timeline

extension LifecycleEvent {
    /// The app was told to end, and has a moment for it.
    public struct AppTerminating: EventData {
        public static let type = "lifecycle.app.terminating"

        public var app: Nullable<String>
        /// Delivered to the app, in this order; the last is `willTerminate`.
        public var callbacks: [Callback]
        /// When `willTerminate` must have returned; the watchdog ends the app then.
        public var deadline: Instant
        /// Why it ends.
        public var reason: EndReason
        /// The state after it.
        public var state: AppState = .background
    }

    /// The app's process ended.
    public struct AppTerminated: EventData {
        public static let type = "lifecycle.app.terminated"

        public var app: Nullable<String>
        /// Of the background tasks, in seconds; nil in the foreground.
        public var backgroundTimeRemaining: Interval?
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        /// Apple's exit code, where the system killed it.
        public var code: TerminationCode?
        /// The state before; `notRunning` where only the switcher's entry was swiped away.
        public var from: AppState
        public var reason: EndReason
        /// Seconds that the process lived.
        public var sinceLaunch: Interval?
        /// The state after it.
        public var state: AppState = .notRunning
    }
}
