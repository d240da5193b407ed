public import Records
public import Timeline

extension TransferEvent {
    /// An attempt of a task was scheduled for the first free transfer worker.
    public struct AttemptScheduled: TransferTaskEventData {
        public static let type = "transfer.attempt.scheduled"

        public var taskKey: Flattened<TaskKey>
        /// The number of the attempt. Only reports of the latest attempt are accepted.
        public var epoch: Int
        /// The bytes that are already stored or sent.
        public var from: Int
        /// The version of the draft by which the upload can be resumed; nil for downloads, and if it can't be resumed.
        public var uploadDraft: UploadDraftVersion?
    }

    /// A transfer worker started an attempt.
    public struct AttemptStarted: TransferTaskEventData {
        public static let type = "transfer.attempt.started"

        public var taskKey: Flattened<TaskKey>
        /// The byte at which a modelled server cuts the connection; nil for real servers, and if it does not.
        public var cutAt: Int?
        public var epoch: Int
        /// The id of the transfer worker.
        public var worker: String
    }

    /// The server sent the response head of an attempt.
    public struct ResponseReceived: TransferTaskEventData {
        public static let type = "transfer.response.received"

        public var taskKey: Flattened<TaskKey>
        public var epoch: Int
        /// The offset of the response's bytes in the file. If it is not 0, the delegate gets `didResumeAtOffset`.
        public var from: Int
        /// Whether the event is delivered to a delegate at once.
        public var isDelivered: Defaulted<Bool> = true
        public var response: ResponseHead
        /// Whether earlier bytes are dropped, because the resource changed or the server can't resume.
        public var restarts = false
    }

    /// The delegate got an informational response: `urlSession(_:task:didReceiveInformationalResponse:)`.
    ///
    /// Source: RFC 9110, section 15.2: interim responses, which precede the final one.
    public struct InformationalReceived: TransferTaskEventData {
        public static let type = "transfer.informational.received"

        public var taskKey: Flattened<TaskKey>
        public var epoch: Int
        public var response = InformationalResponse()
    }

    /// Received bytes were stored durably: `didWriteData` for a download, the response body for an upload.
    public struct ProgressMade: TransferTaskEventData {
        public static let type = "transfer.progress.made"

        public var taskKey: Flattened<TaskKey>
        /// The bytes since the last report.
        public var bytesWritten: Int
        public var epoch: Int
        /// Whether the event is delivered to a delegate at once.
        public var isDelivered: Defaulted<Bool> = true
        /// The expected total; nil if the server did not send it.
        public var totalBytesExpectedToWrite: Nullable<Int> = nil
        public var totalBytesWritten: Int
    }

    /// Bytes of an upload were sent: `didSendBodyData`.
    public struct BodySent: TransferTaskEventData {
        public static let type = "transfer.body.sent"

        public var taskKey: Flattened<TaskKey>
        /// The bytes since the last report.
        public var bytesSent: Int
        public var epoch: Int
        /// Whether the event is delivered to a delegate at once.
        public var isDelivered: Defaulted<Bool> = true
        public var totalBytesExpectedToSend: Int
        public var totalBytesSent: Int
    }

    /// The server created a resource for an upload, by which an interrupted upload can be resumed.
    ///
    /// Source: draft-ietf-httpbis-resumable-upload: the interim response 104 (Upload Resumption Supported).
    public struct UploadCreated: TransferTaskEventData {
        public static let type = "transfer.upload.created"

        public var taskKey: Flattened<TaskKey>
        public var epoch: Int
        /// The URL of the resource, from `Location`.
        public var url: String
    }

    /// The server said how many bytes of an interrupted upload it has. The attempt sends the rest.
    public struct UploadResumed: TransferTaskEventData {
        public static let type = "transfer.upload.resumed"

        public var taskKey: Flattened<TaskKey>
        public var epoch: Int
        /// `Upload-Offset`: the number of bytes that the server has.
        public var from: Int
    }

    /// The delegate got the latest progress of a task that it had missed.
    public struct ProgressReported: TransferTaskEventData {
        public static let type = "transfer.progress.reported"

        public var taskKey: Flattened<TaskKey>
        /// The bytes received or sent since the last report to the delegate.
        public var bytes: Int
        public var kind = TransferKind.download
        /// The offset at which the transfer resumed: `didResumeAtOffset`; nil if it did not resume.
        public var resumedAt: Int?
        public var totalBytes: Int
        /// The expected total; nil if unknown.
        public var totalBytesExpected: Int?
    }

    /// A redirect was followed.
    public struct RedirectFollowed: TransferTaskEventData {
        public static let type = "transfer.redirect.followed"

        public var taskKey: Flattened<TaskKey>
        /// Whether the origin changes. Credentials are not sent to another origin.
        public var crossesOrigins = false
        public var epoch: Int
        /// The method of the next request, to `url`.
        public var method: String
        /// The HTTP status.
        public var status: Int
        public var url: String
    }

    /// An attempt ended. Its transfer worker stops if it still runs.
    public struct AttemptEnded: TransferTaskEventData {
        public static let type = "transfer.attempt.ended"

        public var taskKey: Flattened<TaskKey>
        public var end = AttemptEnd.finished
        public var epoch: Int
        /// The earliest time of the next attempt.
        public var retryAt: Instant?
        /// The bytes that are stored or sent.
        public var to: Int
    }
}
