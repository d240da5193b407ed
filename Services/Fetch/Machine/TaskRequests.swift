public import Contracts
import OrderedCollections
public import Records
public import Timeline

// What the machine knows of an app's requests to `BGTaskScheduler`.

/// A task request that waits for its moment.
public struct PendingTask: Record, Equatable {
    public var request = BackgroundTaskRequest()
    public var submittedAt = Instant.epoch
    /// The last run of it that was refused: a refusal is not followed by another try at once.
    public var refusedAt: Instant?
    /// What it waits for; nil while a run of the app's tasks is under way.
    public var wait: TaskWait?
    /// The run that is due and not answered, which takes this request away once it begins.
    public var run: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("request", &request)
        fields.field("submittedAt", &submittedAt)
        fields.omittable("refusedAt", &refusedAt)
        fields.omittable("wait", &wait)
        fields.omittable("run", &run)
    }
}

/// What a task request waits for.
public struct TaskWait: Record, Equatable {
    /// The moment that is held for it; nil while factors block it.
    public var at: Instant?
    /// The moment that would be best if no other wake were in its way; nil where that is the one that is held.
    public var aim: Instant?
    /// The ceiling of the suite under which it is held; nil where there is none.
    public var ceiling: Int?
    /// Never before this: what would be best is not, where another wake is in its way.
    public var earliest = Instant.epoch
    /// Why it must wait.
    public var blockers: [TaskFactor] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("aim", &aim)
        fields.omittable("ceiling", &ceiling)
        fields.field("earliest", &earliest)
        fields.omittable("at", &at)
        fields.field("blockers", &blockers)
    }
}

extension TaskWait {
    /// What would be best: where it waits, and nothing blocks it.
    var best: Instant? { aim ?? at }
}

/// The run of a task request.
public struct RunningTask: Record, Equatable {
    /// What it runs for, as it was when the run came due.
    public var submission = BackgroundTaskRequest()
    /// Names the run.
    public var request = ""
    public var dueAt = Instant.epoch
    /// When the app was woken; nil until then.
    public var startedAt: Instant?
    public var wake: String?
    /// When it is given up.
    public var answerBy = Instant.epoch
    public var simulated = false
    /// Why it was told to end; nil unless it was.
    public var stopped: TaskStopCause?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("submission", &submission)
        fields.field("request", &request)
        fields.field("dueAt", &dueAt)
        fields.omittable("startedAt", &startedAt)
        fields.omittable("wake", &wake)
        fields.field("answerBy", &answerBy)
        fields.field("simulated", &simulated)
        fields.omittable("stopped", &stopped)
    }
}

extension ScheduledApp {
    /// Whether the manifest allows such a request: its mode, and its identifier.
    func permits(_ request: BackgroundTaskRequest) -> Bool {
        declares(request.kind) && permittedTaskIdentifiers.contains(request.identifier)
    }

    func declares(_ kind: TaskRequestKind) -> Bool {
        switch kind {
        case .refresh: declaresFetch
        case .processing: declaresProcessing
        }
    }

    /// The next moment at which time itself is an input to the task requests.
    var nextTaskDeadline: Instant? {
        if let runningTask { return runningTask.answerBy }
        return tasks.isEmpty ? nil : tasks.values.compactMap { $0.wait?.at }.min()
    }
}

extension ProfileName {
    /// `BGTaskScheduler` came with iOS 13.
    var hasTaskRequests: Bool {
        switch self {
        case .ios6, .ios7: false
        case .ios13, .ios15, .ios18: true
        }
    }

    /// Whether processing happens although the user ended the app in the switcher (Apple's developer technical support: on
    /// iOS 18).
    var processingOutlivesForceQuit: Bool {
        switch self {
        case .ios6, .ios7, .ios13, .ios15: false
        case .ios18: true
        }
    }
}
