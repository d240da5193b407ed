public import Records
public import Timeline

extension LifecycleEvent {
    /// An app was installed or updated to a new manifest.
    public struct AppInstalled: EventData {
        public static let type = "lifecycle.app.installed"

        public var app: Nullable<String>
        public var manifest: Manifest
    }

    /// An app was uninstalled with all its state.
    public struct AppUninstalled: EventData {
        public static let type = "lifecycle.app.uninstalled"

        public var app: Nullable<String>
    }

    /// The system created the process of an app before its launch. The code of the app does not run yet.
    public struct AppPrewarmed: EventData {
        public static let type = "lifecycle.app.prewarmed"

        public var app: Nullable<String>
    }

    /// The user launched an app that was not running.
    public struct AppLaunched: EventData {
        public static let type = "lifecycle.app.launched"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        /// The deadline of the launch handlers; nil if they return at once.
        public var deadline: Instant?
        /// The state after the event.
        public var state: AppState = .active
    }

    /// An app became active.
    public struct AppActivated: EventData {
        public static let type = "lifecycle.app.activated"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        /// The state after the event.
        public var state: AppState = .active
    }

    /// An active app became inactive.
    public struct AppResigned: EventData {
        public static let type = "lifecycle.app.resigned"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        public var cause: AppTransition
        /// The state after the event.
        public var state: AppState = .inactive
    }

    /// The foreground app went to the background.
    public struct AppBackgrounded: EventData {
        public static let type = "lifecycle.app.backgrounded"

        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        public var cause: BackgroundCause
        /// The deadline of `didEnterBackground`; nil if it returns at once.
        public var deadline: Instant?
        /// The state after the event.
        public var state: AppState = .background
        /// True if the app has no work in the background: the next event suspends it, at the same time.
        public var suspends: Bool?
        /// The time for all background tasks of the app from now on, in seconds.
        public var taskTime: Interval
    }

    /// An app was suspended because it had no work in the background.
    public struct AppSuspended: EventData {
        public static let type = "lifecycle.app.suspended"

        public var app: Nullable<String>
        /// Always empty: the system does not notify an app of its suspension.
        public var callbacks: [Callback] = []
        /// The state after the event.
        public var state: AppState = .suspended
    }

    /// A handler of an app returned within its limit.
    public struct CallbackCompleted: EventData {
        public static let type = "lifecycle.callback.completed"

        public var app: Nullable<String>
        public var callback: Callback
        /// The label of the app's new snapshot in the app switcher.
        public var snapshotLabel: String?
    }
}
