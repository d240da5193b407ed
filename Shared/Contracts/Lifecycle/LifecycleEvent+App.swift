public import Records
public import Timeline

extension LifecycleEvent {
    /// An app was installed, or updated to a new manifest.
    public struct AppInstalled: EventData {
        public static let type = "lifecycle.app.installed"

        public var app: Nullable<String>
        public var manifest: Manifest
    }

    /// An app is gone, with everything that it held.
    public struct AppUninstalled: EventData {
        public static let type = "lifecycle.app.uninstalled"

        public var app: Nullable<String>
    }

    /// The system made a process for an app ahead of its launch; its code does not run yet.
    public struct AppPrewarmed: EventData {
        public static let type = "lifecycle.app.prewarmed"

        public var app: Nullable<String>
    }

    /// The user launched an app that was not running.
    public struct AppLaunched: EventData {
        public static let type = "lifecycle.app.launched"

        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        /// When the launch handlers must have returned; nil where they return at once.
        public var deadline: Instant?
        /// The state after it.
        public var state: AppState = .active
    }

    /// An app became the active one.
    public struct AppActivated: EventData {
        public static let type = "lifecycle.app.activated"

        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        /// The state after it.
        public var state: AppState = .active
    }

    /// An active app was interrupted.
    public struct AppResigned: EventData {
        public static let type = "lifecycle.app.resigned"

        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        public var cause: AppTransition
        /// The state after it.
        public var state: AppState = .inactive
    }

    /// The foreground app went to the background.
    public struct AppBackgrounded: EventData {
        public static let type = "lifecycle.app.backgrounded"

        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        public var cause: BackgroundCause
        /// When `didEnterBackground` must have returned; nil where it returns at once.
        public var deadline: Instant?
        /// The state after it.
        public var state: AppState = .background
        /// What background tasks get from now on, app-wide; in seconds.
        public var taskTime: Interval
    }

    /// No work was left in the background: the app's code stands still.
    public struct AppSuspended: EventData {
        public static let type = "lifecycle.app.suspended"

        public var app: Nullable<String>
        /// None: nothing tells an app that it is suspended.
        public var callbacks: [Callback] = []
        /// The state after it.
        public var state: AppState = .suspended
    }

    /// A handler of the app returned within its limit.
    public struct CallbackCompleted: EventData {
        public static let type = "lifecycle.callback.completed"

        public var app: Nullable<String>
        public var callback: Callback
        /// What the app shows in the switcher from now on.
        public var snapshotLabel: String?
    }
}
