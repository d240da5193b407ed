public import Records

extension LifecycleEvent {
    /// An app began what may keep it running in the background.
    public struct ActivityStarted: EventData {
        public static let type = "lifecycle.activity.started"

        public var activity: ActivityKind
        public var app: Nullable<String>
        public var request: ActivityRequest
    }

    /// An app no longer does what kept it running in the background.
    public struct ActivityStopped: EventData {
        public static let type = "lifecycle.activity.stopped"

        public var activity: ActivityKind
        public var app: Nullable<String>
        /// Delivered to the app, in this order.
        public var callbacks: [Callback]
        public var cause: ActivityEnd
    }

    /// An app's code did something that may cost its life, or that the user may see.
    public struct ActionReported: EventData {
        public static let type = "lifecycle.action.reported"

        public var action: ActionReport
        public var app: Nullable<String>
        /// Of a local notification: whether the user sees it.
        public var shown: Bool?
    }
}
