public import Records
public import Timeline

extension TransferEvent {
    /// An app created a task, which is suspended until the app resumes it.
    public struct TaskCreated: TransferTaskEventData {
        public static let type = "transfer.task.created"

        public var taskKey: Flattened<TaskKey>
        /// The body of an upload.
        public var body: AppFile?
        /// Whether it is a data task, which fails when its process is suspended or ends.
        public var isDataTask: Defaulted<Bool> = false
        /// The name of the task's bytes in storage.
        public var file: String
        public var kind = TransferKind.download
        public var request: TransferRequest
        /// The resume data of an earlier task, which can't be used again.
        public var resumeData: String?
        /// The time that the task has while it is not suspended: `timeoutIntervalForResource`. Nil for no limit.
        public var timeout: Interval?
    }

    /// An app resumed a suspended task. The first time starts the task.
    public struct TaskResumed: TransferTaskEventData {
        public static let type = "transfer.task.resumed"

        public var taskKey: Flattened<TaskKey>
        /// The time at which the task fails unless it has finished or is suspended; nil without a limit.
        public var deadline: Instant?
        /// The earliest begin of a task that was started during a wake: the resume-rate limiter.
        public var delayedUntil: Instant?
        /// Whether the task is discretionary, by request or because it was started while the app was in the background.
        public var discretionary = false
    }

    /// An app suspended a task. Its time limit stops.
    public struct TaskSuspended: TransferTaskEventData {
        public static let type = "transfer.task.suspended"

        public var taskKey: Flattened<TaskKey>
    }

    /// The app, the invalidation of its session or a force quit cancelled a task.
    public struct TaskCancelled: TransferTaskEventData {
        public static let type = "transfer.task.cancelled"

        public var taskKey: Flattened<TaskKey>
    }

    /// A data task became a download task, which outlives its process: `URLSession.ResponseDisposition.becomeDownload`.
    public struct TaskBecameDownload: TransferTaskEventData {
        public static let type = "transfer.task.becameDownload"

        public var taskKey: Flattened<TaskKey>
    }

    /// A running task was held back for the reason in `waiting`.
    public struct TaskHeld: TransferTaskEventData {
        public static let type = "transfer.task.held"

        public var taskKey: Flattened<TaskKey>
        /// The time of the next check, if time decides.
        public var until: Instant?
        public var waiting = WaitingReason.waitingForConnectivity
    }

    /// A task finished with or without an error.
    public struct TaskCompleted: TransferTaskEventData {
        public static let type = "transfer.task.completed"

        public var taskKey: Flattened<TaskKey>
        public var bytesReceived: Int
        /// The sent bytes of an upload's body in the last attempt.
        public var bytesSent: Int?
        public var error: TransferFailure?
        public var kind: Defaulted<TransferKind> = TransferKind.download
        /// The id of the stored header fields that the task no longer needs.
        public var secretHeaders: String?
        /// The SHA-256 of the whole file, in hexadecimal.
        public var sha256: String?
        /// The HTTP status. 4xx and 5xx are not errors.
        public var status: Int?
    }
}
