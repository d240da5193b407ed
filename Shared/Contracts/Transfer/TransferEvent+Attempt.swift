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
        /// Bytes that had come before are dropped: the resource is another one, or the server can't resume.
        public var restarts = false
        /// Whether there is a delegate that hears of it now.
        public var isTold = true

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("epoch", &epoch)
            fields.field("from", &from)
            fields.defaulted("isTold", &isTold)
            fields.field("response", &response)
            fields.field("restarts", &restarts)
        }
    }

    /// Bytes are durably there: `didWriteData` of a download, the answer's body of an upload.
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
        /// Whether there is a delegate that hears of it now.
        public var isTold = true

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("bytesWritten", &bytesWritten)
            fields.field("epoch", &epoch)
            fields.defaulted("isTold", &isTold)
            fields.field("totalBytesExpectedToWrite", &totalBytesExpectedToWrite)
            fields.field("totalBytesWritten", &totalBytesWritten)
        }
    }

    /// Bytes of an upload have left: `didSendBodyData`.
    public struct BodySent: TransferTaskEventData {
        public static let type = "transfer.body.sent"
        public static let summary = "Bytes of an upload have left: didSendBodyData."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        /// Since the last report.
        public var bytesSent = 0
        public var totalBytesSent = 0
        public var totalBytesExpectedToSend = 0
        /// Whether there is a delegate that hears of it now.
        public var isTold = true

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("bytesSent", &bytesSent)
            fields.field("epoch", &epoch)
            fields.defaulted("isTold", &isTold)
            fields.field("totalBytesExpectedToSend", &totalBytesExpectedToSend)
            fields.field("totalBytesSent", &totalBytesSent)
        }
    }

    /// What a delegate has missed while its app was suspended: the latest of a task.
    public struct ProgressTold: TransferTaskEventData {
        public static let type = "transfer.progress.told"
        public static let summary = "What a delegate has missed while its app was suspended: the latest of a task."

        public var app: String?
        public var session = ""
        public var task = 0
        public var kind = TransferKind.download
        /// Since the delegate last heard: written, or sent.
        public var bytes = 0
        public var totalBytes = 0
        /// Nil where it is not known.
        public var totalBytesExpected: Int?
        /// Where the transfer went on from bytes that were there: `didResumeAtOffset`.
        public var resumedAt: Int?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("bytes", &bytes)
            fields.field("kind", &kind)
            fields.omittable("resumedAt", &resumedAt)
            fields.field("totalBytes", &totalBytes)
            fields.omittable("totalBytesExpected", &totalBytesExpected)
        }
    }

    /// A redirect was followed, without asking the app, as background sessions do.
    public struct RedirectFollowed: TransferTaskEventData {
        public static let type = "transfer.redirect.followed"
        public static let summary = "A redirect was followed, without asking the app, as background sessions do."

        public var app: String?
        public var session = ""
        public var task = 0
        public var epoch = 0
        /// Of HTTP.
        public var status = 0
        /// The method and the URL of the next request.
        public var method = ""
        public var url = ""
        /// Another origin: credentials are not sent on.
        public var crossesOrigins = false

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            visitPlace(&fields)
            fields.field("crossesOrigins", &crossesOrigins)
            fields.field("epoch", &epoch)
            fields.field("method", &method)
            fields.field("status", &status)
            fields.field("url", &url)
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
