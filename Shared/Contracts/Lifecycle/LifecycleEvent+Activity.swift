public import Records

extension LifecycleEvent {
    /// An app started an activity that can keep it running in the background.
    public struct ActivityStarted: EventData {
        public static let type = "lifecycle.activity.started"

        public var activity: ActivityKind
        public var app: Nullable<String>
        public var request: ActivityRequest
    }

    /// An activity that can keep an app running in the background stopped.
    public struct ActivityStopped: EventData {
        public static let type = "lifecycle.activity.stopped"

        public var activity: ActivityKind
        public var app: Nullable<String>
        /// The delegate methods that the system calls, in this order.
        public var callbacks: [Callback]
        public var cause: ActivityEnd
    }

    /// An app performed an action that may end it or that the user may see.
    public struct ActionReported: EventData {
        public static let type = "lifecycle.action.reported"

        public var action: ActionReport
        public var app: Nullable<String>
        /// Whether the user sees the local notification; nil for other actions.
        public var shown: Bool?
    }
}
