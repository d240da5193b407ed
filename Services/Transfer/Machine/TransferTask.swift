public import Contracts
public import Records
public import Timeline

/// A task of a session.
public struct TransferTask: Record, Equatable {
    public var task = 0
    public var kind = TransferKind.download
    public var request = TransferRequest()
    public var isDiscretionary = false
    public var state = TransferState.running
    /// What it sends, of an upload.
    public var body: AppFile?
    /// When it fails unless it has finished.
    public var deadline = Instant.epoch
    /// Names its bytes in storage.
    public var file = ""
    /// Why it does not move; nil while it does, and outside of `running`.
    public var waiting: WaitingReason?
    /// When time itself lets it go on.
    public var waitsUntil: Instant?
    /// The number of the last attempt.
    public var epoch = 0
    public var attempt: Attempt?
    /// The pieces of storage that hold its bytes, in order.
    public var segments: [Segment] = []
    /// The first answer of the representation that is being received; what resuming goes by.
    public var response: ResponseHead?
    public var bytesExpected: Int?
    /// Attempts in a row that failed without a byte.
    public var failures = 0
    /// Those of them in a row in which the server could not be found, or connected to.
    public var connectFailures = 0
    public var retryAt: Instant?
    /// The last ``TransferMachine/keptAttempts``, oldest first.
    public var attempts: [AttemptRecord] = []
    public var error: TransferFailure?
    public var sha256: String?
    /// It was started in a wake: the resume-rate limiter lets it begin no earlier.
    public var delayedUntil: Instant?
    /// Of the body, in the last attempt.
    public var bytesSent = 0
    /// When bytes were last reported.
    public var progressAt: Instant?
    /// Where the last attempt was redirected to, in the end.
    public var currentURL: String?
    /// What the app has to answer before it goes on.
    public var challenge: PendingChallenge?
    /// What the app does not answer with a credential.
    public var declined: [DeclinedSpace] = []
    /// What the delegate has not heard of yet, of what the attempts brought.
    public var untoldBytes = 0
    public var untoldResume: Int?
    /// What became of the file that it has downloaded.
    public var fate = FileFate.kept
    /// The name of the app's file that it becomes, or has become.
    public var claimedAs: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("task", &task)
        fields.field("kind", &kind)
        fields.field("request", &request)
        fields.field("isDiscretionary", &isDiscretionary)
        fields.field("state", &state)
        fields.omittable("body", &body)
        fields.field("deadline", &deadline)
        fields.field("file", &file)
        fields.omittable("waiting", &waiting)
        fields.omittable("waitsUntil", &waitsUntil)
        fields.field("epoch", &epoch)
        fields.omittable("attempt", &attempt)
        fields.field("segments", &segments)
        fields.omittable("response", &response)
        fields.omittable("bytesExpected", &bytesExpected)
        fields.field("failures", &failures)
        fields.field("connectFailures", &connectFailures)
        fields.omittable("retryAt", &retryAt)
        fields.field("attempts", &attempts)
        fields.omittable("error", &error)
        fields.omittable("sha256", &sha256)
        fields.omittable("delayedUntil", &delayedUntil)
        fields.field("bytesSent", &bytesSent)
        fields.omittable("progressAt", &progressAt)
        fields.omittable("currentURL", &currentURL)
        fields.omittable("challenge", &challenge)
        fields.field("declined", &declined)
        fields.field("untoldBytes", &untoldBytes)
        fields.omittable("untoldResume", &untoldResume)
        fields.field("fate", &fate)
        fields.omittable("claimedAs", &claimedAs)
    }

    /// How many bytes are durably there.
    public var bytesReceived: Int { segments.reduce(0) { $0 + $1.length.heldToBytes } }

    /// How many bytes a second the last attempt has brought, or sent; nil before anything was reported.
    public var rate: Double? {
        guard let last = attempts.last, let progressAt, progressAt > last.startedAt else { return nil }
        let bytes = kind == .upload ? bytesSent : bytesReceived - last.from
        return Double(max(0, bytes)) / (progressAt - last.startedAt).seconds
    }

    /// Where a piece of what it has received is in storage.
    public func storedPiece(_ segment: Segment) -> StoredPiece {
        StoredPiece(name: "\(file)-\(segment.epoch)", length: segment.length)
    }

    /// What it has received, as a file.
    public var receivedFile: AppFile {
        var file = AppFile()
        file.pieces = pieces
        file.sha256 = sha256
        file.contentType = response?.contentType
        return file
    }

    /// All that it has received, in order.
    public var pieces: [StoredPiece] { segments.filter { $0.length > 0 }.map { storedPiece($0) } }
}
