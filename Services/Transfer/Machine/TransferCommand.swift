public import Contracts

/// What apps, and the movers of this service, ask of `transfer`.
public enum TransferCommand: Sendable, Equatable {
    /// `URLSession(configuration:)`: makes the session, or attaches to it where it is there still.
    case openSession(app: String, session: String, SessionConfiguration)
    /// - Parameter cancels: `invalidateAndCancel` rather than `finishTasksAndInvalidate`.
    case invalidateSession(app: String, session: String, cancels: Bool)
    case download(app: String, session: String, DownloadRequest)
    case resume(TaskPlace)
    case suspend(TaskPlace)
    case cancel(TaskPlace)

    /// A mover takes on an attempt that is scheduled.
    case startAttempt(AttemptClaim)
    case receiveResponse(AttemptClaim, ResponseHead)
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
