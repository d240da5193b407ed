public import Records
public import Timeline

extension TransferEvent {
    /// An app created a task, which begins at once.
    public struct TaskCreated: TransferTaskEventData {
        public static let type = "transfer.task.created"
        public static let summary = "An app created a task, which begins at once."

        public var app: String?
        public var session = ""
        public var task = 0
        public var kind = TransferKind.download
        public var request = TransferRequest()
        /// Asked for, or forced since the app is in the background.
        public var discretionary = false
        /// When it fails unless it has finished: `timeoutIntervalForResource`.
        public var deadline = Instant.epoch
        /// Names its bytes in storage.
        public var file = ""
        /// What it sends, of an upload.
        public var body: AppFile?
        /// It was started in a wake, and may begin no earlier: the resume-rate limiter.
        public var delayedUntil: Instant?
        /// It goes on from what an earlier task has left, which can't be used again.
        public var resumeData: String?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.omittable("body", &body)
            fields.field("deadline", &deadline)
            fields.omittable("delayedUntil", &delayedUntil)
            fields.field("discretionary", &discretionary)
            fields.field("file", &file)
            fields.field("kind", &kind)
            fields.field("request", &request)
            fields.omittable("resumeData", &resumeData)
        }
    }

    /// A suspended task goes on.
    public struct TaskResumed: TransferTaskEventData {
        public static let type = "transfer.task.resumed"
        public static let summary = "A suspended task goes on."

        public var app: String?
        public var session = ""
        public var task = 0

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { visitPlace(&fields) }
    }

    /// The app suspended a task.
    public struct TaskSuspended: TransferTaskEventData {
        public static let type = "transfer.task.suspended"
        public static let summary = "The app suspended a task."

        public var app: String?
        public var session = ""
        public var task = 0

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { visitPlace(&fields) }
    }

    /// A task is being cancelled: by the app, by the session, or since the user ended the app.
    public struct TaskCancelled: TransferTaskEventData {
        public static let type = "transfer.task.cancelled"
        public static let summary =
            "A task is being cancelled: by the app, by the session, or since the user ended the app."

        public var app: String?
        public var session = ""
        public var task = 0

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { visitPlace(&fields) }
    }

    /// A running task does not move, and why.
    public struct TaskHeld: TransferTaskEventData {
        public static let type = "transfer.task.held"
        public static let summary = "A running task does not move, and why."

        public var app: String?
        public var session = ""
        public var task = 0
        public var waiting = WaitingReason.waitingForConnectivity
        /// When it is looked at again, where time decides.
        public var until: Instant?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.omittable("until", &until)
            fields.field("waiting", &waiting)
        }
    }

    /// A task has finished, with or without an error.
    public struct TaskCompleted: TransferTaskEventData {
        public static let type = "transfer.task.completed"
        public static let summary = "A task has finished, with or without an error."

        public var app: String?
        public var session = ""
        public var task = 0
        public var kind = TransferKind.download
        public var bytesReceived = 0
        /// Of the body of an upload, in the last attempt.
        public var bytesSent: Int?
        public var error: TransferFailure?
        /// Of the whole file, in hexadecimal.
        public var sha256: String?
        /// Of HTTP; 4xx and 5xx are no errors.
        public var status: Int?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("bytesReceived", &bytesReceived)
            fields.omittable("bytesSent", &bytesSent)
            fields.omittable("error", &error)
            fields.defaulted("kind", &kind)
            fields.omittable("sha256", &sha256)
            fields.omittable("status", &status)
        }
    }
}
