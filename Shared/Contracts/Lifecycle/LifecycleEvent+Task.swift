public import Records
public import Timeline

extension LifecycleEvent {
    /// The app asked to be kept from suspension for a piece of work.
    public struct TaskBegun: EventData {
        public static let type = "lifecycle.task.begun"

        public var app: Nullable<String>
        /// Whether it wants to be told shortly before the time is over.
        public var expirationHandler: Bool
        public var name: String?
        /// The app-wide rest; nil in the foreground, where it is unlimited.
        public var secondsRemaining: Interval?
        public var task: String
    }

    /// The app said that a background task is done.
    public struct TaskEnded: EventData {
        public static let type = "lifecycle.task.ended"

        public var app: Nullable<String>
        /// False where no such task was open, which is harmless.
        public var known: Bool
        public var task: String
    }

    /// The time of the background tasks is nearly over: the expiration handler runs.
    public struct TaskExpiring: EventData {
        public static let type = "lifecycle.task.expiring"

        public var app: Nullable<String>
        /// When the app is killed if the task is still open.
        public var deadline: Instant
        public var task: String
    }
}
