public import Records
public import Timeline

extension TransferEvent {
    /// A task may move: whichever mover comes first takes it.
    public struct AttemptScheduled: TransferTaskEventData {
        public static let type = "transfer.attempt.scheduled"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// Counts the task's attempts; only reports of the latest count.
        public var epoch: Int
        /// How many bytes are there already.
        public var from: Int
    }

    /// A mover took a task on.
    public struct AttemptStarted: TransferTaskEventData {
        public static let type = "transfer.attempt.started"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var epoch: Int
        /// The process that moves the bytes.
        public var mover: String
    }

    /// The server answered an attempt.
    public struct ResponseReceived: TransferTaskEventData {
        public static let type = "transfer.response.received"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var epoch: Int
        /// Where its bytes go: `didResumeAtOffset` where it is not 0.
        public var from: Int
        /// Whether there is a delegate that hears of it now.
        public var isTold: Defaulted<Bool> = true
        public var response: ResponseHead
        /// Bytes that had come before are dropped: the resource is another one, or the server can't resume.
        public var restarts = false
    }

    /// Bytes are durably there: `didWriteData` of a download, the answer's body of an upload.
    public struct ProgressMade: TransferTaskEventData {
        public static let type = "transfer.progress.made"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// Since the last report.
        public var bytesWritten: Int
        public var epoch: Int
        /// Whether there is a delegate that hears of it now.
        public var isTold: Defaulted<Bool> = true
        /// Nil where the server did not say.
        public var totalBytesExpectedToWrite: Nullable<Int> = nil
        public var totalBytesWritten: Int
    }

    /// Bytes of an upload have left: `didSendBodyData`.
    public struct BodySent: TransferTaskEventData {
        public static let type = "transfer.body.sent"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// Since the last report.
        public var bytesSent: Int
        public var epoch: Int
        /// Whether there is a delegate that hears of it now.
        public var isTold: Defaulted<Bool> = true
        public var totalBytesExpectedToSend: Int
        public var totalBytesSent: Int
    }

    /// What a delegate has missed while its app was suspended: the latest of a task.
    public struct ProgressTold: TransferTaskEventData {
        public static let type = "transfer.progress.told"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// Since the delegate last heard: written, or sent.
        public var bytes: Int
        public var kind = TransferKind.download
        /// Where the transfer went on from bytes that were there: `didResumeAtOffset`.
        public var resumedAt: Int?
        public var totalBytes: Int
        /// Nil where it is not known.
        public var totalBytesExpected: Int?
    }

    /// A redirect was followed, without asking the app, as background sessions do.
    public struct RedirectFollowed: TransferTaskEventData {
        public static let type = "transfer.redirect.followed"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        /// Another origin: credentials are not sent on.
        public var crossesOrigins = false
        public var epoch: Int
        /// The method and the URL of the next request.
        public var method: String
        /// Of HTTP.
        public var status: Int
        public var url: String
    }

    /// An attempt is over; its mover, if it still runs, stops.
    public struct AttemptEnded: TransferTaskEventData {
        public static let type = "transfer.attempt.ended"

        public var app: Nullable<String>
        public var session: String
        public var task: Int
        public var end = AttemptEnd.finished
        public var epoch: Int
        /// The next attempt comes no earlier.
        public var retryAt: Instant?
        /// How many bytes are there.
        public var to: Int
    }
}
