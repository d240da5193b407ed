public import Contracts
public import OrderedCollections
public import Records

/// What the machine knows about an installed app.
public struct AppView: Record, Equatable {
    public var state = AppPresence.notRunning
    /// The user ended it: nothing of it goes on, and nothing launches it.
    public var forceQuit = false
    /// By name: what it may upload, and what it claimed of what it has downloaded.
    public var files: OrderedDictionary<String, AppFile> = [:]
    /// By the resume data that names it: what is there of downloads that were given up. The newest
    /// ``TransferMachine/keptResumeData``.
    public var resumable: OrderedDictionary<String, ResumableDownload> = [:]

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("state", &state)
        fields.field("forceQuit", &forceQuit)
        fields.field("files", &files)
        fields.field("resumable", &resumable)
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
    /// A challenge has come since the app was last woken.
    public var hasNewChallenge = false
    /// The present wake has been told that there is nothing more: `urlSessionDidFinishEvents`.
    public var hasFinishedEvents = false
    /// How often the app was woken for this session since the user last brought it to the foreground: what the
    /// resume-rate limiter counts.
    public var relaunches = 0
    /// The identifier that the last task got.
    public var lastTask = 0
    /// In the order of their identifiers. Of those that are finished and told, the newest
    /// ``TransferMachine/keptTasks``.
    public var tasks: [TransferTask] = []
    /// The finished tasks that the app was not told of, in the order in which they finished.
    public var untold: [Int] = []
    /// The callback that the delegate is in: the next one waits for it.
    public var finishing: FinishingDownload?
    /// What the app has answered challenges with, at most one for a protection space.
    public var credentials: [HeldCredential] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("configuration", &configuration)
        fields.field("isAttached", &isAttached)
        fields.field("isInvalidated", &isInvalidated)
        fields.field("wake", &wake)
        fields.field("hasNews", &hasNews)
        fields.field("hasNewChallenge", &hasNewChallenge)
        fields.field("hasFinishedEvents", &hasFinishedEvents)
        fields.field("relaunches", &relaunches)
        fields.field("lastTask", &lastTask)
        fields.field("tasks", &tasks)
        fields.field("untold", &untold)
        fields.omittable("finishing", &finishing)
        fields.field("credentials", &credentials)
    }

    /// A task by its identifier.
    public subscript(_ task: Int) -> TransferTask? { tasks.first { $0.task == task } }

    public var hasUnfinishedTasks: Bool { tasks.contains { $0.state != .completed } }
}
