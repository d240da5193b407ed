import Contracts
import Records
import Timeline
import TransferCore

/// A task as the API shows it.
struct TaskDocument: Record {
    var attempts: [AttemptRecord] = []
    var bytesExpected: Nullable<Int> = nil
    var bytesExpectedToSend: Nullable<Int> = nil
    var bytesReceived = 0
    /// Bytes of an upload's body that the last attempt has sent; nil for a download.
    var bytesSent: Nullable<Int> = nil
    var challenge: Nullable<ChallengeDocument> = nil
    /// The name of the app's file that the download became.
    var claimedAs: Nullable<String> = nil
    /// The URL after redirects.
    var currentURL: Nullable<String> = nil
    var error: Nullable<TransferFailure> = nil
    /// Whether it is a data task, which fails when its process is suspended or ends.
    var isDataTask = false
    var isDiscretionary = false
    var kind = TransferKind.download
    /// Bytes per second of the last attempt.
    var rate: Nullable<Double> = nil
    var response: Nullable<ResponseHead> = nil
    var sha256: Nullable<String> = nil
    var state = TransferState.suspended
    var task = 0
    var until: Nullable<Instant> = nil
    var url = ""
    var waiting: Nullable<WaitingReason> = nil

    init(_ task: TransferTask) {
        self.task = task.task
        kind = task.kind
        state = task.state
        url = task.request.url
        isDataTask = task.isDataTask
        isDiscretionary = task.isDiscretionary
        waiting = task.waiting
        until = task.waitsUntil ?? nil
        bytesReceived = task.bytesReceived
        bytesExpected = task.bytesExpected
        if task.kind == .upload {
            bytesSent = task.bytesSent
            bytesExpectedToSend = task.body?.length
        }
        rate = task.rate
        currentURL = task.currentURL
        challenge = task.challenge.map { ChallengeDocument($0) }
        claimedAs = task.claimedAs
        attempts = task.attempts
        response = task.response
        error = task.error
        sha256 = task.sha256
    }
}

/// A pending challenge as the API shows it.
struct ChallengeDocument: Record {
    var challenge: Flattened<AuthenticationChallenge> = AuthenticationChallenge()
    var id = ""
    /// The time of default handling; nil while the app runs no code or has not received the challenge yet.
    var until: Nullable<Instant> = nil

    init(_ pending: PendingChallenge) {
        id = pending.id
        challenge = pending.challenge
        until = pending.countdown?.until
    }
}
