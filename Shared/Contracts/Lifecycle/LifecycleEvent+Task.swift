public import Records
public import Timeline

extension LifecycleEvent {
    /// An app began a background task to finish work before its suspension.
    public struct TaskBegun: EventData {
        public static let type = "lifecycle.task.begun"

        public var app: Nullable<String>
        /// Whether the app set an expiration handler.
        public var expirationHandler: Bool
        public var name: String?
        /// The remaining time for all background tasks of the app; nil in the foreground, where it is unlimited.
        public var secondsRemaining: Interval?
        public var task: String
    }

    /// An app ended a background task.
    public struct TaskEnded: EventData {
        public static let type = "lifecycle.task.ended"

        public var app: Nullable<String>
        /// Whether the task was open. To end an unknown task has no effect.
        public var known: Bool
        public var task: String
    }

    /// The time of a background task was nearly over and the system called its expiration handler.
    public struct TaskExpiring: EventData {
        public static let type = "lifecycle.task.expiring"

        public var app: Nullable<String>
        /// The time at which the system kills the app if the task is still open.
        public var deadline: Instant
        public var task: String
    }
}
