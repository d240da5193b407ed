public import Records
public import Timeline

extension LifecycleEvent {
    /// The system asked an app to terminate and called `willTerminate`.
    public struct AppTerminating: EventData {
        public static let type = "lifecycle.app.terminating"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order. The last is `willTerminate`.
        public var callbacks: [Callback]
        /// The deadline of `willTerminate`. The watchdog ends the app then.
        public var deadline: Instant
        /// The reason why the app ends.
        public var reason: EndReason
        /// The state after the event.
        public var state: AppState = .background
    }

    /// The process of an app ended.
    public struct AppTerminated: EventData {
        public static let type = "lifecycle.app.terminated"

        public var app: Nullable<String>
        /// The remaining time for background tasks, in seconds; nil in the foreground.
        public var backgroundTimeRemaining: Interval?
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        /// Apple's exit code if the system killed the process.
        public var code: TerminationCode?
        /// The previous state; `notRunning` if only the entry in the app switcher was removed.
        public var from: AppState
        /// Whether the entry in the app switcher ends with the process. Nil means false, except after a force quit.
        public var leavesSwitcher: Bool?
        public var reason: EndReason
        /// The lifetime of the process in seconds.
        public var sinceLaunch: Interval?
        /// The state after the event.
        public var state: AppState = .notRunning
    }
}
