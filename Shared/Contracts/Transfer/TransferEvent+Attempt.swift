public import Records
public import Timeline

extension TransferEvent {
    /// A task may move: whichever mover comes first takes it.
    public struct AttemptScheduled: TransferTaskEventData {
        public static let type = "transfer.attempt.scheduled"
        public static let summary = "A task may move: whichever mover comes first takes it."

        public var app: String?
        public var session = ""
        public var task = 0
        /// Counts the task's attempts; only reports of the latest count.
        public var epoch = 0
        /// How many bytes are there already.
        public var from = 0

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("epoch", &epoch)
            fields.field("from", &from)
        }
    }

    /// A mover took a task on.
    public struct AttemptStarted: TransferTaskEventData {
        public static let type = "transfer.attempt.started"
        public static let summary = "A mover took a task on."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        /// The process that moves the bytes.
        public var mover = ""

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("epoch", &epoch)
            fields.field("mover", &mover)
        }
    }

    /// The server answered an attempt.
    public struct ResponseReceived: TransferTaskEventData {
        public static let type = "transfer.response.received"
        public static let summary = "The server answered an attempt."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        public var response = ResponseHead()
        /// Where its bytes go: `didResumeAtOffset` where it is not 0.
        public var from = 0
        /// Bytes that were there are dropped: the resource is another one, or the server can't resume.
        public var restarts = false

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("epoch", &epoch)
            fields.field("from", &from)
            fields.field("response", &response)
            fields.field("restarts", &restarts)
        }
    }

    /// Bytes are durably there: `didWriteData`.
    public struct ProgressMade: TransferTaskEventData {
        public static let type = "transfer.progress.made"
        public static let summary = "Bytes are durably there: didWriteData."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        /// Since the last report.
        public var bytesWritten = 0
        public var totalBytesWritten = 0
        /// Nil where the server did not say.
        public var totalBytesExpectedToWrite: Int?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("bytesWritten", &bytesWritten)
            fields.field("epoch", &epoch)
            fields.field("totalBytesExpectedToWrite", &totalBytesExpectedToWrite)
            fields.field("totalBytesWritten", &totalBytesWritten)
        }
    }

    /// An attempt is over; its mover, if it still runs, stops.
    public struct AttemptEnded: TransferTaskEventData {
        public static let type = "transfer.attempt.ended"
        public static let summary = "An attempt is over; its mover, if it still runs, stops."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        public var end = AttemptEnd.finished
        /// How many bytes are there.
        public var to = 0
        /// The next attempt comes no earlier.
        public var retryAt: Instant?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("end", &end)
            fields.field("epoch", &epoch)
            fields.omittable("retryAt", &retryAt)
            fields.field("to", &to)
        }
    }
}
