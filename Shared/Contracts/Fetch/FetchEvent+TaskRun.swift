public import Records
public import Timeline

// The runs of task requests, from the wake to the end.
extension FetchEvent {
    /// The system woke an app for a task request. The request is no longer pending.
    public struct TaskStarted: EventData {
        public static let type = "fetch.task.started"

        /// The time at which it is abandoned unless its end is known. It is later than the limit of the wake, which
        /// `lifecycle` decides.
        public var answerBy: Instant
        public var app: Nullable<String>
        public var identifier: String
        public var request: String
        public var wake: String
    }

    /// `fetch` asked for the early end of a running task. The system calls its expiration handler at once.
    public struct TaskStopped: EventData {
        public static let type = "fetch.task.stopped"

        public var app: Nullable<String>
        public var cause: TaskStopCause
        public var identifier: String
        public var request: String
    }

    /// The run of a task request ended. The event contains its complete record.
    public struct TaskRecorded: EventData {
        public static let type = "fetch.task.recorded"

        public var app: Nullable<String> = nil
        /// The bytes that the handler received, as reported by the device; nil without a report.
        public var bytesReceived: Int?
        public var completedAt = Instant.epoch
        /// The start of the day whose budgets are charged; nil if nothing was spent.
        public var day: Instant?
        public var dueAt = Instant.epoch
        /// The duration from start to end; nil if it never began.
        public var elapsedSeconds: Interval?
        public var identifier = ""
        public var kind = TaskRequestKind.placeholder
        /// The charge of a refresh to the energy budgets; 0 while the device charges and for processing.
        public var millijoules: Defaulted<Int> = 0
        /// The reason why it never began: a refusal of `lifecycle` or `unanswered`.
        public var refusal: String?
        public var request = ""
        public var result = TaskResult.failed
        public var simulated: Defaulted<Bool> = false
        /// The time at which the app was woken; nil if it was not.
        public var startedAt: Instant?
    }
}
