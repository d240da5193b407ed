public import Records
public import Timeline

// Task requests, from their submission to the end of their runs.
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

    /// The system woke an app for a task request. The request is no longer pending.
    public struct TaskStarted: EventData {
        public static let type = "fetch.task.started"

        /// The time at which it is abandoned unless its end is known. It is later than the limit of the wake, which
        /// `lifecycle` decides. Nil for continued processing, which has no limit.
        public var answerBy: Instant?
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

/// A submitted `BGTaskRequest`.
public struct BackgroundTaskRequest: Record, Equatable {
    /// The earliest start. The task may start much later.
    public var earliestBeginDate: Instant?
    /// Whether the launch handler sets `BGTask.expirationHandler`.
    public var expirationHandler: Defaulted<Bool> = true
    /// One of the manifest's `permittedTaskIdentifiers`.
    public var identifier = ""
    public var kind = TaskRequestKind.refresh
    /// `protectionTypeOfRequiredData`, for health research only; nil if the task needs no protected data.
    public var protectionTypeOfRequiredData: FileProtectionType?
    /// For continued processing only.
    public var requiredResources: Defaulted<[TaskResource]> = []
    /// For processing and health research only.
    public var requiresExternalPower: Defaulted<Bool> = false
    /// For processing and health research only.
    public var requiresNetworkConnectivity: Defaulted<Bool> = false
    /// For continued processing only; nil means `queue`.
    public var strategy: SubmissionStrategy?
    /// The second line that the user sees. For continued processing only, which needs it.
    public var subtitle: String?
    /// The first line that the user sees. For continued processing only, which needs it.
    public var title: String?

    enum Constraints {
        static let identifier: Constraint<String> = .identifier
        static let requiredResources: Constraint<[TaskResource]> = .count(0...TaskResource.allCases.count)
        static let subtitle: Constraint<String> = .text(1...128)
        static let title: Constraint<String> = .text(1...128)
    }

    /// Whether the task needs files that a locked device can't open.
    public var requiresUnlockedDevice: Bool {
        switch protectionTypeOfRequiredData {
        case .complete, .completeUnlessOpen: true
        case .completeUntilFirstUserAuthentication, .unprotected, nil: false
        }
    }

    public init(_ identifier: String, _ kind: TaskRequestKind) {
        self.identifier = identifier
        self.kind = kind
    }
}
