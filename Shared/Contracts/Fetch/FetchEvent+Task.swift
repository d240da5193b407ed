public import Records
public import Timeline

// Task requests, from their submission to the moment when they are due.
extension FetchEvent {
    /// An app submitted a task request. One of the same identifier that was pending is replaced.
    public struct TaskSubmitted: EventData {
        public static let type = "fetch.task.submitted"

        public var app: Nullable<String>
        public var request: Flattened<BackgroundTaskRequest>
    }

    /// A pending task request was cancelled. A run of it that is under way goes on.
    public struct TaskCancelled: EventData {
        public static let type = "fetch.task.cancelled"

        public var app: Nullable<String>
        public var identifier: String
    }

    /// A moment was chosen for a task request, or it became clear that it must wait.
    public struct TaskScheduled: EventData {
        public static let type = "fetch.task.scheduled"

        /// The moment that would be best if neither the ceiling of the suite nor another wake of the device were in its way; nil
        /// where that is the chosen one.
        public var aim: Instant?
        public var app: Nullable<String> = nil
        /// The chosen moment, which is held for it; nil while factors block it.
        public var at: Instant?
        /// The factors because of which it must wait, until they change.
        public var blockers: Defaulted<[TaskFactor]> = []
        /// The ceiling of the suite, wakes a second, under which it is held; nil where there is none.
        public var ceiling: Int?
        /// It is not tried before this; nil while factors block it.
        public var earliest: Instant?
        public var identifier = ""
    }

    /// The moment for a task request of an app has come. It stays pending until the app was woken.
    public struct TaskDue: EventData {
        public static let type = "fetch.task.due"

        /// When it is given up unless `lifecycle` has answered.
        public var answerBy: Instant?
        public var app: Nullable<String>
        /// Whether the launch handler sets `BGTask.expirationHandler`.
        public var expirationHandler: Defaulted<Bool> = true
        /// The identifier that the app registered with `BGTaskScheduler`.
        public var identifier: String
        public var kind: TaskRequestKind
        /// Names this run of it in everything that follows.
        public var request: String
        /// Asked for by a tester, past the scheduler.
        public var simulated: Defaulted<Bool> = false
    }
}
