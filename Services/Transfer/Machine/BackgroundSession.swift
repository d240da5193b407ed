public import Contracts
public import Records
public import Timeline

/// What the machine knows about an installed app.
public struct AppView: Record, Equatable {
    public var state = AppPresence.notRunning
    /// The user ended it: nothing of it goes on, and nothing launches it.
    public var forceQuit = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("state", &state)
        fields.field("forceQuit", &forceQuit)
    }
}

/// A background session of an app.
public struct BackgroundSession: Record, Equatable {
    /// How far the wake of the app for this session has come.
    public enum WakeState: String, Word { case none, requested, begun }

    public var app = ""
    public var configuration = SessionConfiguration()
    /// Whether the app's present process has created it: only then there is a delegate to tell.
    public var isAttached = false
    /// No task is taken any more.
    public var isInvalidated = false
    public var wake = WakeState.none
    /// A task has finished since the app was last told or woken.
    public var hasNews = false
    /// The identifier that the last task got.
    public var lastTask = 0
    /// In the order of their identifiers. Of those that are finished and told, the newest
    /// ``TransferMachine/keptTasks``.
    public var tasks: [TransferTask] = []
    /// The finished tasks that the app was not told of, in the order in which they finished.
    public var untold: [Int] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("configuration", &configuration)
        fields.field("isAttached", &isAttached)
        fields.field("isInvalidated", &isInvalidated)
        fields.field("wake", &wake)
        fields.field("hasNews", &hasNews)
        fields.field("lastTask", &lastTask)
        fields.field("tasks", &tasks)
        fields.field("untold", &untold)
    }

    /// A task by its identifier.
    public subscript(_ task: Int) -> TransferTask? { tasks.first { $0.task == task } }

    public var hasUnfinishedTasks: Bool { tasks.contains { $0.state != .completed } }
}

/// A task of a session.
public struct TransferTask: Record, Equatable {
    public var task = 0
    public var kind = TransferKind.download
    public var request = DownloadRequest()
    public var isDiscretionary = false
    public var state = TransferState.running
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
    public var retryAt: Instant?
    /// The last ``TransferMachine/keptAttempts``, oldest first.
    public var attempts: [AttemptRecord] = []
    public var error: TransferFailure?
    public var sha256: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("task", &task)
        fields.field("kind", &kind)
        fields.field("request", &request)
        fields.field("isDiscretionary", &isDiscretionary)
        fields.field("state", &state)
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
        fields.omittable("retryAt", &retryAt)
        fields.field("attempts", &attempts)
        fields.omittable("error", &error)
        fields.omittable("sha256", &sha256)
    }

    /// How many bytes are durably there.
    public var bytesReceived: Int { segments.reduce(0) { $0 + $1.length } }
}

/// An attempt that is under way: at most one a task.
public struct Attempt: Record, Equatable {
    public var epoch = 0
    public var from = 0
    /// Who carries it out; nil until one came.
    public var mover: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("from", &from)
        fields.omittable("mover", &mover)
    }
}

/// What one attempt brought. Every attempt writes a piece of its own, so a mover that wakes up late spoils nobody's.
public struct Segment: Record, Equatable {
    public var epoch = 0
    /// In bytes; what lies behind them in storage does not count.
    public var length = 0

    public init() {}

    public init(epoch: Int, length: Int) {
        self.epoch = epoch
        self.length = length
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("length", &length)
    }
}

/// An attempt in a task's history.
public struct AttemptRecord: Record, Equatable {
    public var startedAt = Instant.epoch
    public var from = 0
    public var to = 0
    /// Nil while it is under way.
    public var end: AttemptEnd?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("startedAt", &startedAt)
        fields.field("from", &from)
        fields.field("to", &to)
        fields.field("end", &end)
    }
}
