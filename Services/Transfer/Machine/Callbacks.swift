public import Contracts
public import Records
public import Timeline

/// A span that passes only while an app's code runs.
public struct Countdown: Record, Equatable {
    public var left = Interval.zero
    /// When it is over; nil while it stands still.
    public var until: Instant?

    public init() {}

    /// Runs from a moment on.
    public init(until: Instant) { self.until = until }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("left", &left)
        fields.omittable("until", &until)
    }

    mutating func stop(at time: Instant) {
        guard let until else { return }
        left = max(.zero, until - time)
        self.until = nil
    }

    mutating func extend(by length: Interval) { until = until.map { $0 + length } }

    mutating func goOn(at time: Instant) {
        if until == nil { until = time + left }
    }
}

/// The delegate is in `didFinishDownloadingTo`.
public struct FinishingDownload: Record, Equatable {
    public var task = 0
    public var countdown = Countdown()

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("task", &task)
        fields.field("countdown", &countdown)
    }
}

/// A challenge that its app has not answered.
public struct PendingChallenge: Record, Equatable {
    public var id = ""
    public var challenge = AuthenticationChallenge()
    /// How long the app has; nil until it was asked.
    public var countdown: Countdown?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("id", &id)
        fields.field("challenge", &challenge)
        fields.omittable("countdown", &countdown)
    }
}

/// That an app gave a credential for a protection space. The credential itself is not in the state.
public struct HeldCredential: Record, Equatable {
    /// The challenge that it was the answer to.
    public var id = ""
    public var challenge = AuthenticationChallenge()

    public init() {}

    public init(id: String, challenge: AuthenticationChallenge) {
        self.id = id
        self.challenge = challenge
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("id", &id)
        fields.field("challenge", &challenge)
    }
}

/// A protection space that a task gets no credential for.
public struct DeclinedSpace: Record, Equatable {
    public var challenge = AuthenticationChallenge()
    public var disposition = ChallengeDisposition.performDefaultHandling

    public init() {}

    public init(_ challenge: AuthenticationChallenge, _ disposition: ChallengeDisposition) {
        self.challenge = challenge
        self.disposition = disposition
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("challenge", &challenge)
        fields.field("disposition", &disposition)
    }
}

/// What became of the file of a finished download.
public enum FileFate: String, Word {
    /// The delegate was not told yet.
    case kept
    /// The delegate is in `didFinishDownloadingTo`.
    case offered
    /// It is a file of the app.
    case claimed
    /// The callback has returned, and the app did not want it.
    case gone
}

/// What is there of a download that was given up: what resume data names. It can be used once.
public struct ResumableDownload: Record, Equatable {
    public var request = TransferRequest()
    public var file = ""
    public var epoch = 0
    public var segments: [Segment] = []
    public var response: ResponseHead?
    public var bytesExpected: Int?

    public init() {}

    init(_ task: TransferTask) {
        request = task.request
        file = task.file
        epoch = task.epoch
        segments = task.segments
        response = task.response
        bytesExpected = task.bytesExpected
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("request", &request)
        fields.field("file", &file)
        fields.field("epoch", &epoch)
        fields.field("segments", &segments)
        fields.omittable("response", &response)
        fields.omittable("bytesExpected", &bytesExpected)
    }

    /// Where what is there is in storage.
    public var pieces: [StoredPiece] {
        segments.filter { $0.length > 0 }.map { StoredPiece(name: "\(file)-\($0.epoch)", length: $0.length) }
    }
}
