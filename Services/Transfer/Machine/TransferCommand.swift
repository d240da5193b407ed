public import Contracts
public import Timeline

/// What apps, and the movers of this service, ask of `transfer`.
public enum TransferCommand: Sendable, Equatable {
    /// `URLSession(configuration:)`: makes the session, or attaches to it where it is there still.
    case openSession(app: String, session: String, SessionConfiguration)
    /// - Parameter cancels: `invalidateAndCancel` rather than `finishTasksAndInvalidate`.
    case invalidateSession(app: String, session: String, cancels: Bool)
    case download(app: String, session: String, TransferRequest)
    /// A download that goes on from what resume data names, which can't be used again.
    /// - Parameter changes: what of the request is to be another.
    case downloadResuming(app: String, session: String, resumeData: String, RequestChanges)
    case upload(app: String, session: String, TransferRequest, UploadSource)
    case resume(TaskPlace)
    case suspend(TaskPlace)
    case cancel(TaskPlace)
    case cancelByProducingResumeData(TaskPlace)
    /// The app takes the file of a download, now or when it has finished, as its own under a name.
    case claim(TaskPlace, name: String)
    /// `didFinishDownloadingTo` has returned; what the app has not claimed goes. Nothing where no callback is under way.
    /// - Parameter task: whose callback; nil for the one that is under way.
    case returnFromCallback(app: String, session: String, task: Int?)
    case storeFile(app: String, name: String, AppFile)
    case removeFile(app: String, name: String)
    /// - Parameter id: of the challenge. The credential is not the machine's to know.
    /// - Parameter credential: by what the movers find it.
    case answerChallenge(app: String, id: String, ChallengeDisposition, credential: String?)

    /// A mover takes on an attempt that is scheduled.
    case startAttempt(AttemptClaim)
    case receiveResponse(AttemptClaim, ResponseHead)
    case followRedirect(AttemptClaim, Redirect)
    /// So many bytes of the body have left.
    case reportSent(AttemptClaim, total: Int)
    /// The app has to answer before anything can be had.
    case challenge(AttemptClaim, AuthenticationChallenge)
    /// So many bytes of the task are durably there.
    case report(AttemptClaim, total: Int)
    case finish(AttemptClaim, total: Int, sha256: String)
    case fail(AttemptClaim, total: Int, AttemptEnd)
    /// The claim's mover is dead: another one may go on.
    case takeOver(AttemptClaim)
}

/// By what a mover speaks of an attempt: it is heard only while the attempt is the task's latest and the mover's own.
public struct AttemptClaim: Sendable, Equatable {
    public var place: TaskPlace
    public var epoch: Int
    public var mover: String

    public init(_ place: TaskPlace, epoch: Int, mover: String) {
        self.place = place
        self.epoch = epoch
        self.mover = mover
    }
}

/// What an upload task sends.
public enum UploadSource: Sendable, Equatable {
    /// A file of the app by its name: as it is now, whatever becomes of the name.
    case file(String)
    /// What lies in storage for this task alone.
    case body(AppFile)

    /// The bytes that nothing but the task will name; none for a file of the app.
    public var body: AppFile { if case .body(let file) = self { file } else { AppFile() } }
}

/// What may be told anew of a download that goes on from resume data.
public struct RequestChanges: Sendable, Equatable {
    public var earliestBeginDate: Instant?
    public var priority: Double?

    public init(earliestBeginDate: Instant? = nil, priority: Double? = nil) {
        self.earliestBeginDate = earliestBeginDate
        self.priority = priority
    }
}

/// A redirect that a mover follows.
public struct Redirect: Sendable, Equatable {
    /// Of the answer that redirects.
    public var status: Int
    /// Of the request that follows.
    public var method: String
    public var url: String
    public var crossesOrigins: Bool

    public init(status: Int, method: String, url: String, crossesOrigins: Bool) {
        self.status = status
        self.method = method
        self.url = url
        self.crossesOrigins = crossesOrigins
    }
}
