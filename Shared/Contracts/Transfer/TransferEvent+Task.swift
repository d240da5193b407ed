public import Records
public import Timeline

extension TransferEvent {
    /// An app created a task, which begins at once.
    public struct TaskCreated: TransferTaskEventData {
        public static let type = "transfer.task.created"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// What it sends, of an upload.
        public var body: AppFile?
        /// When it fails unless it has finished: `timeoutIntervalForResource`.
        public var deadline: Instant
        /// It was started in a wake, and may begin no earlier: the resume-rate limiter.
        public var delayedUntil: Instant?
        /// Asked for, or forced since the app is in the background.
        public var discretionary = false
        /// Names its bytes in storage.
        public var file: String
        public var kind = TransferKind.download
        public var request: TransferRequest
        /// It goes on from what an earlier task has left, which can't be used again.
        public var resumeData: String?
    }

    /// A suspended task goes on.
    public struct TaskResumed: TransferTaskEventData {
        public static let type = "transfer.task.resumed"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
    }

    /// The app suspended a task.
    public struct TaskSuspended: TransferTaskEventData {
        public static let type = "transfer.task.suspended"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
    }

    /// A task is being cancelled: by the app, by the session, or since the user ended the app.
    public struct TaskCancelled: TransferTaskEventData {
        public static let type = "transfer.task.cancelled"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
    }

    /// A running task does not move, and why.
    public struct TaskHeld: TransferTaskEventData {
        public static let type = "transfer.task.held"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// When it is looked at again, where time decides.
        public var until: Instant?
        public var waiting = WaitingReason.waitingForConnectivity
    }

    /// A task has finished, with or without an error.
    public struct TaskCompleted: TransferTaskEventData {
        public static let type = "transfer.task.completed"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var bytesReceived: Int
        /// Of the body of an upload, in the last attempt.
        public var bytesSent: Int?
        public var error: TransferFailure?
        public var kind: Defaulted<TransferKind> = TransferKind.download
        /// Of the whole file, in hexadecimal.
        public var sha256: String?
        /// Of HTTP; 4xx and 5xx are no errors.
        public var status: Int?
    }
}
