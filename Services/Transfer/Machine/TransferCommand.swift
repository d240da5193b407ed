public import Contracts
public import OrderedCollections
public import Timeline

/// A command of an app or of a transfer worker.
public enum TransferCommand: Sendable, Equatable {
    /// `URLSession(configuration:)`: creates the session, or attaches to an existing one.
    case openSession(app: String, session: String, SessionConfiguration, by: SessionProcess = .app)
    /// Reports that the process of the app extension that is connected to a session has ended. Does nothing without one.
    case endExtension(app: String, session: String)
    /// `invalidateAndCancel` if `cancels` is true, else `finishTasksAndInvalidate`.
    case invalidateSession(app: String, session: String, cancels: Bool)
    /// Creates a download task, and resumes it if `resumes` is true.
    case download(app: String, session: String, TransferRequest, isDataTask: Bool = false, resumes: Bool = false)
    /// Creates a download task that continues from resume data, and resumes it if `resumes` is true. Resume data can be
    /// used once.
    case downloadResuming(
        app: String, session: String, resumeData: String, RequestChanges, resumes: Bool = false)
    /// Creates an upload task, and resumes it if `resumes` is true.
    case upload(app: String, session: String, TransferRequest, UploadSource, resumes: Bool = false)
    /// Creates an upload task that continues from resume data, and resumes it if `resumes` is true. Resume data can be
    /// used once.
    case uploadResuming(app: String, session: String, resumeData: String, RequestChanges, resumes: Bool = false)
    /// Resumes a suspended task. New tasks are suspended.
    case resume(TaskKey)
    /// Suspends a running task.
    case suspend(TaskKey)
    /// Cancels a task.
    case cancel(TaskKey)
    /// Cancels a task as the system does, without a call of the app.
    case cancelBySystem(TaskKey, CancellationReason)
    /// Makes a data task a download task. Does nothing for other tasks.
    case becomeDownload(TaskKey)
    /// Cancels a task, and keeps its bytes for a new task that continues.
    case cancelByProducingResumeData(TaskKey)
    /// Makes the file of a download, now or when it has finished, a file of the app under a name.
    case claim(TaskKey, name: String)
    /// Reports that `didFinishDownloadingTo` of a task, or of the current task if nil, has returned. A file that the app
    /// has not claimed is removed. Does nothing if that callback is not running.
    case returnFromCallback(app: String, session: String, task: Int?)
    /// Stores a file of an app under a name.
    case storeFile(app: String, name: String, AppFile)
    /// Removes a file of an app.
    case removeFile(app: String, name: String)
    /// Answers the challenge `id`. `credential` identifies the stored credential; the machine never sees its secret.
    case answerChallenge(app: String, id: String, ChallengeDisposition, credential: String?)
    /// Answers `willBeginDelayedRequest` of a task. The new request counts for `useNewRequest` only.
    case answerDelayedRequest(TaskKey, DelayedRequestDisposition, NewRequest?)
    /// Answers `willPerformHTTPRedirection` of a task.
    case answerRedirect(TaskKey, RedirectDisposition)

    /// Claims a scheduled attempt for a transfer worker.
    case startAttempt(AttemptClaim)
    /// Reports the head of the response.
    case receiveResponse(AttemptClaim, ResponseHead)
    /// Reports an informational response. Only an app that runs and whose generation has the callback learns of it.
    case receiveInformational(AttemptClaim, InformationalResponse)
    /// Reports a redirect. The worker follows it unless the command ends the attempt.
    case followRedirect(AttemptClaim, Redirect)
    /// Reports the URL of the resource that the server created for an upload.
    case createUpload(AttemptClaim, url: String)
    /// Reports the number of bytes of an interrupted upload that the server has.
    case resumeUpload(AttemptClaim, from: Int)
    /// Reports the number of bytes of the body that are sent, from its beginning.
    case reportSent(AttemptClaim, total: Int)
    /// Ends the attempt because the app must answer a challenge first.
    case challenge(AttemptClaim, AuthenticationChallenge)
    /// Reports the number of bytes of the task that are durably stored.
    case report(AttemptClaim, total: Int)
    /// Completes the task.
    case finish(AttemptClaim, total: Int, sha256: String)
    /// Ends the attempt with a failure.
    case fail(AttemptClaim, total: Int, AttemptEnd)
    /// Ends the attempt of a dead worker, so that another worker can continue.
    case takeOver(AttemptClaim)
}

/// The identity of an attempt in a worker's reports. Reports count only for the latest attempt of a task and from the
/// worker that claimed it.
public struct AttemptClaim: Sendable, Equatable {
    public var taskKey: TaskKey
    public var epoch: Int
    /// The identifier of the transfer worker.
    public var worker: String

    public init(_ taskKey: TaskKey, epoch: Int, worker: String) {
        self.taskKey = taskKey
        self.epoch = epoch
        self.worker = worker
    }
}

/// The source of the bytes of an upload task.
public enum UploadSource: Sendable, Equatable {
    /// A file of the app by its name. The task sends the current content, even if the file changes later.
    case file(String)
    /// Bytes in storage that belong to this task alone.
    case body(AppFile)

    /// The bytes that belong to the task alone; empty for a file of the app.
    public var body: AppFile { if case .body(let file) = self { file } else { AppFile() } }
}

/// The request fields that a resumed transfer can change.
public struct RequestChanges: Sendable, Equatable {
    public var earliestBeginDate: Instant?
    public var priority: Double?
    /// The id of the fields `Authorization` and `Cookie` of the new task.
    public var secretHeaders: String?

    public init(earliestBeginDate: Instant? = nil, priority: Double? = nil, secretHeaders: String? = nil) {
        self.earliestBeginDate = earliestBeginDate
        self.priority = priority
        self.secretHeaders = secretHeaders
    }
}

/// The request that replaces a delayed one. Method, body, dates and counts stay those of the task.
public struct NewRequest: Sendable, Equatable {
    public var url: String
    public var headers: OrderedDictionary<String, String>
    /// The id of its fields `Authorization` and `Cookie`.
    public var secretHeaders: String?

    public init(url: String, headers: OrderedDictionary<String, String> = [:], secretHeaders: String? = nil) {
        self.url = url
        self.headers = headers
        self.secretHeaders = secretHeaders
    }
}

/// A redirect that a transfer worker follows.
public struct Redirect: Sendable, Equatable {
    /// The HTTP status of the redirecting response.
    public var status: Int
    /// The method of the next request.
    public var method: String
    /// The URL of the next request.
    public var url: String
    /// Whether the next request goes to another origin, without credentials.
    public var crossesOrigins: Bool

    public init(status: Int, method: String, url: String, crossesOrigins: Bool) {
        self.status = status
        self.method = method
        self.url = url
        self.crossesOrigins = crossesOrigins
    }
}
