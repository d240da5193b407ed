public import Contracts
public import Records
public import Timeline

/// A download or upload task of a session.
public struct TransferTask: Record, Equatable {
    /// The identifier of the task: from 1, unique in its session.
    public var task = 0
    public var kind = TransferKind.download
    /// Whether it is a data task, which has no file and fails when its process is suspended or ends.
    public var isDataTask = false
    public var request: TransferRequest
    public var isDiscretionary = false
    public var state = TransferState.suspended
    /// Whether the app has resumed the task at least once.
    public var hasStarted = false
    /// The file that an upload sends.
    public var body: AppFile?
    /// The resource of an upload at its server; nil if an interrupted upload begins anew.
    public var upload: UploadResource?
    /// The rest of `timeoutIntervalForResource`. It is stopped while the task is suspended. Nil for no limit.
    public var timeout: Countdown?
    /// The prefix of the names of its files in storage.
    public var file = ""
    /// The reason why a running task has no attempt; nil in all other cases.
    public var waiting: WaitingReason?
    /// The time at which the reason in `waiting` ends; nil if it does not depend on time.
    public var waitsUntil: Instant?
    /// The number of the latest attempt.
    public var epoch = 0
    /// The attempt that is in progress.
    public var attempt: Attempt?
    /// The pieces of storage that hold the received bytes, in order.
    public var segments: [Segment] = []
    /// The first response of the current representation. A resumed attempt must match it.
    public var response: ResponseHead?
    public var bytesExpected: Int?
    /// The number of consecutive failures since the last attempt that received bytes, including that one.
    public var failures = 0
    /// The number of consecutive attempts that could not find the server or connect to it.
    public var connectFailures = 0
    /// The earliest time of the next attempt after a failure.
    public var retryAt: Instant?
    /// The last ``TransferMachine/keptAttempts`` attempts, oldest first.
    public var attempts: [AttemptRecord] = []
    public var error: TransferFailure?
    /// The SHA-256 digest of the finished file, in hexadecimal.
    public var sha256: String?
    /// The earliest begin of a task that was started in the background after a wake, set by the resume-rate limiter.
    public var delayedUntil: Instant?
    /// The bytes of the body that the last attempt has sent.
    public var bytesSent = 0
    /// The time of the last report of bytes.
    public var progressAt: Instant?
    /// The last redirect target of the last attempt, shortened to ``TransferMachine/keptURL``.
    public var currentURL: String?
    /// The challenge that the app must answer before the next attempt.
    public var challenge: PendingChallenge?
    /// The `willBeginDelayedRequest` that the app must answer before the first attempt.
    public var delayedRequest = DelayedRequestState.none
    /// The redirect about which the app must decide before the next attempt.
    public var redirect: PendingRedirect?
    /// The number of redirects that each attempt follows without a question, because the app has allowed them.
    public var allowedRedirects = 0
    /// Whether the app has refused the redirect after them. Its response is then the response of the task.
    public var refusesRedirect = false
    /// The protection spaces for which the app gave no credential.
    public var declined: [DeclinedSpace] = []
    /// The bytes that are not yet reported to the delegate.
    public var undeliveredBytes = 0
    /// The offset of a `didResumeAtOffset` that is not yet reported to the delegate.
    public var undeliveredResume: Int?
    /// The fate of the downloaded file.
    public var fate = FileFate.kept
    /// The name under which the app claimed the downloaded file, also in advance.
    public var claimedAs: String?

    /// The number of bytes that are durably stored.
    public var bytesReceived: Int { segments.reduce(0) { $0 + $1.length.heldToBytes } }

    /// The rate of the last attempt in bytes per second, received or sent; nil before its first report.
    public var rate: Double? {
        guard let last = attempts.last, let progressAt, progressAt > last.startedAt else { return nil }
        let bytes = kind == .upload ? bytesSent : bytesReceived - last.from
        return Double(max(0, bytes)) / (progressAt - last.startedAt).seconds
    }

    /// Whether the task waits for an answer of its delegate.
    public var asksDelegate: Bool { challenge != nil || redirect != nil || delayedRequest.isPending }

    /// Returns the storage piece of a segment.
    public func storedPiece(_ segment: Segment) -> StoredPiece {
        StoredPiece(length: segment.length, name: "\(file)-\(segment.epoch)")
    }

    /// The received bytes as a file.
    public var receivedFile: AppFile {
        AppFile(contentType: response?.contentType, pieces: pieces, sha256: sha256)
    }

    /// The storage pieces of the received bytes, in order.
    public var pieces: [StoredPiece] { segments.filter { $0.length > 0 }.map { storedPiece($0) } }
}

extension TransferTask {
    mutating func forgetBytes() {
        segments = []
        response = nil
        bytesExpected = nil
    }

    mutating func noteProgress(at time: Instant, undelivered bytes: Int) {
        progressAt = time
        undeliveredBytes = (undeliveredBytes.heldToBytes + bytes.heldToBytes).heldToBytes
    }

    mutating func takeOver(_ left: ResumableTransfer) {
        epoch = left.epoch
        segments = left.segments
        response = left.response
        bytesExpected = left.bytesExpected
        upload = left.upload
    }
}

/// An attempt that is in progress, at most one for each task.
public struct Attempt: Record, Equatable {
    /// The number of the attempt. Reports with an older epoch are refused.
    public var epoch = 0
    /// The offset of its first byte.
    public var from = 0
    /// The byte at which a modelled server cuts the connection; nil if it does not.
    public var cutAt: Int?
    /// The version of the draft by which the upload can be resumed; nil if it can't be resumed.
    public var uploadDraft: UploadDraftVersion?
    /// The number of redirects that it has followed.
    public var redirects = 0
    /// The transfer worker that carries it out; nil until a worker claims it.
    public var worker: String?
}

/// The bytes of one attempt. Each attempt writes its own file, so a late worker cannot damage the bytes of another.
public struct Segment: Record, Equatable {
    public var epoch: Int
    /// The valid bytes at the beginning of the file. Later bytes are ignored.
    public var length: Int
}

/// An attempt in the history of a task, with its first offset and the offset behind its last byte.
public struct AttemptRecord: Record, Equatable {
    public var startedAt = Instant.epoch
    public var from = 0
    public var to = 0
    /// The reason why it ended; nil while it is in progress.
    public var end: Nullable<AttemptEnd> = nil
}
