public import Records
public import Timeline

// The runs of task requests, from the wake to the end.
extension FetchEvent {
    /// The app was woken for a task request, which is pending no longer.
    public struct TaskStarted: EventData {
        public static let type = "fetch.task.started"
        public static let summary = "The app was woken for a task request, which is pending no longer."

        public var app: String?
        public var identifier = ""
        public var request = ""
        public var wake = ""
        /// When it is given up unless its end became known. Later than the limit of the wake, which `lifecycle` owns.
        public var answerBy = Instant.epoch

        public init() {}

        public init(app: String, identifier: String, request: String, wake: String, answerBy: Instant) {
            self.app = app
            self.identifier = identifier
            self.request = request
            self.wake = wake
            self.answerBy = answerBy
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("answerBy", &answerBy)
            fields.field("app", &app)
            fields.field("identifier", &identifier)
            fields.field("request", &request)
            fields.field("wake", &wake)
        }
    }

    /// A running task is to end before its time is over: its expiration handler is to be called at once.
    public struct TaskStopped: EventData {
        public static let type = "fetch.task.stopped"
        public static let summary = "A running task is to end before its time is over."

        public var app: String?
        public var identifier = ""
        public var request = ""
        public var cause = TaskStopCause.placeholder

        public init() {}

        public init(app: String, identifier: String, request: String, cause: TaskStopCause) {
            self.app = app
            self.identifier = identifier
            self.request = request
            self.cause = cause
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("cause", &cause)
            fields.field("identifier", &identifier)
            fields.field("request", &request)
        }
    }

    /// The run of a task request ended, one way or another: the whole record of it.
    public struct TaskRecorded: EventData {
        public static let type = "fetch.task.recorded"
        public static let summary = "The run of a task request ended, one way or another: the whole record of it."

        public var app: String?
        public var identifier = ""
        public var kind = TaskRequestKind.placeholder
        public var request = ""
        public var dueAt = Instant.epoch
        /// When the app was woken; nil where it was not.
        public var startedAt: Instant?
        public var completedAt = Instant.epoch
        public var result = TaskResult.failed
        /// Why it never began: a word of `lifecycle`'s refusals, or `unanswered`.
        public var refusal: String?
        /// From start to end; nil where it never began.
        public var elapsedSeconds: Interval?
        public var simulated = false
        /// What its handler loaded, as the device says; nil where it does not.
        public var bytesReceived: Int?
        /// What a refresh spent of the energy budgets: nothing on a charger. Processing is not charged.
        public var millijoules = 0
        /// The beginning of the day whose budgets it is charged to; nil where it spent nothing.
        public var day: Instant?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.omittable("bytesReceived", &bytesReceived)
            fields.field("completedAt", &completedAt)
            fields.omittable("day", &day)
            fields.field("dueAt", &dueAt)
            fields.omittable("elapsedSeconds", &elapsedSeconds)
            fields.field("identifier", &identifier)
            fields.field("kind", &kind)
            fields.defaulted("millijoules", &millijoules)
            fields.omittable("refusal", &refusal)
            fields.field("request", &request)
            fields.field("result", &result)
            fields.defaulted("simulated", &simulated)
            fields.omittable("startedAt", &startedAt)
        }
    }
}
