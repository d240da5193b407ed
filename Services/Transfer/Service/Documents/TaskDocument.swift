import Contracts
import Records
import Timeline
import TransferMachine

/// A task as the API shows it.
struct TaskDocument: Record {
    var task = 0
    var kind = TransferKind.download
    var state = TransferState.running
    var url = ""
    var isDiscretionary = false
    var waiting: WaitingReason?
    var until: Instant?
    var bytesReceived = 0
    var bytesExpected: Int?
    /// Bytes of an upload's body that the last attempt has sent; nil for a download.
    var bytesSent: Int?
    var bytesExpectedToSend: Int?
    /// Bytes per second of the last attempt.
    var rate: Double?
    /// The URL after redirects.
    var currentURL: String?
    var challenge: ChallengeDocument?
    /// The name of the app's file that the download became.
    var claimedAs: String?
    var attempts: [AttemptRecord] = []
    var response: ResponseHead?
    var error: TransferFailure?
    var sha256: String?

    init() {}

    init(_ task: TransferTask) {
        self.task = task.task
        kind = task.kind
        state = task.state
        url = task.request.url
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

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("attempts", &attempts)
        fields.field("bytesExpected", &bytesExpected)
        fields.field("bytesExpectedToSend", &bytesExpectedToSend)
        fields.field("bytesReceived", &bytesReceived)
        fields.field("bytesSent", &bytesSent)
        fields.field("challenge", &challenge)
        fields.field("claimedAs", &claimedAs)
        fields.field("currentURL", &currentURL)
        fields.field("error", &error)
        fields.field("isDiscretionary", &isDiscretionary)
        fields.field("kind", &kind)
        fields.field("rate", &rate)
        fields.field("response", &response)
        fields.field("sha256", &sha256)
        fields.field("state", &state)
        fields.field("task", &task)
        fields.field("until", &until)
        fields.field("url", &url)
        fields.field("waiting", &waiting)
    }
}

/// A pending challenge as the API shows it.
struct ChallengeDocument: Record {
    var id = ""
    var challenge = AuthenticationChallenge()
    /// When default handling follows; nil while the app runs no code or has not got the challenge yet.
    var until: Instant?

    init() {}

    init(_ pending: PendingChallenge) {
        id = pending.id
        challenge = pending.challenge
        until = pending.countdown?.until
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        challenge.visit(&fields)
        fields.field("id", &id)
        fields.field("until", &until)
    }
}
