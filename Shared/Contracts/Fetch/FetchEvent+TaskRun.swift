public import Records
public import Timeline

// The runs of task requests, from the wake to the end.
extension FetchEvent {
    /// The app was woken for a task request, which is pending no longer.
    public struct TaskStarted: EventData {
        public static let type = "fetch.task.started"

        /// When it is given up unless its end became known. Later than the limit of the wake, which `lifecycle` owns.
        public var answerBy: Instant
        public var app: Nullable<String>
        public var identifier: String
        public var request: String
        public var wake: String
    }

    /// A running task is to end before its time is over: its expiration handler is to be called at once.
    public struct TaskStopped: EventData {
        public static let type = "fetch.task.stopped"

        public var app: Nullable<String>
        public var cause: TaskStopCause
        public var identifier: String
        public var request: String
    }

    /// The run of a task request ended, one way or another: the whole record of it.
    public struct TaskRecorded: EventData {
        public static let type = "fetch.task.recorded"

        public var app: Nullable<String> = nil
        /// What its handler loaded, as the device says; nil where it does not.
        public var bytesReceived: Int?
        public var completedAt = Instant.epoch
        /// The beginning of the day whose budgets it is charged to; nil where it spent nothing.
        public var day: Instant?
        public var dueAt = Instant.epoch
        /// From start to end; nil where it never began.
        public var elapsedSeconds: Interval?
        public var identifier = ""
        public var kind = TaskRequestKind.placeholder
        /// What a refresh spent of the energy budgets: nothing on a charger. Processing is not charged.
        public var millijoules: Defaulted<Int> = 0
        /// Why it never began: a word of `lifecycle`'s refusals, or `unanswered`.
        public var refusal: String?
        public var request = ""
        public var result = TaskResult.failed
        public var simulated: Defaulted<Bool> = false
        /// When the app was woken; nil where it was not.
        public var startedAt: Instant?
    }
}
