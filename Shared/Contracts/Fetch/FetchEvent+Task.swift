public import Records
public import Timeline

// Task requests, from their submission to their due time.
extension FetchEvent {
    /// An app submitted a task request. It replaces a pending request with the same identifier.
    public struct TaskSubmitted: EventData {
        public static let type = "fetch.task.submitted"

        public var app: Nullable<String>
        public var request: Flattened<BackgroundTaskRequest>
    }

    /// A pending task request was cancelled. Its current run continues.
    public struct TaskCancelled: EventData {
        public static let type = "fetch.task.cancelled"

        public var app: Nullable<String>
        public var identifier: String
    }

    /// A task request got a time slot, or conditions made it wait.
    public struct TaskScheduled: EventData {
        public static let type = "fetch.task.scheduled"

        /// The best time without the suite's limit and without other wakes of the device; nil if it is the reserved
        /// time slot.
        public var aim: Instant?
        public var app: Nullable<String> = nil
        /// The reserved time slot; nil while factors block the request.
        public var at: Instant?
        /// The factors that block it until they change.
        public var blockers: Defaulted<[TaskFactor]> = []
        /// The suite's limit for the reservation, in wakes per second; nil without a limit.
        public var ceiling: Int?
        /// The earliest time of an attempt; nil while factors block the request.
        public var earliest: Instant?
        public var identifier = ""
    }

    /// A task request of an app became due. It stays pending until the app is woken.
    public struct TaskDue: EventData {
        public static let type = "fetch.task.due"

        /// The time at which it is abandoned unless `lifecycle` has answered.
        public var answerBy: Instant?
        public var app: Nullable<String>
        /// Whether the launch handler sets `BGTask.expirationHandler`.
        public var expirationHandler: Defaulted<Bool> = true
        /// The identifier that the app registered with `BGTaskScheduler`.
        public var identifier: String
        public var kind: TaskRequestKind
        /// The id of this run. Later events refer to it.
        public var request: String
        /// Whether a tester requested it without the scheduler.
        public var simulated: Defaulted<Bool> = false
    }
}
