public import Contracts
import OrderedCollections
public import Records
public import Timeline

// The requests of an app to `BGTaskScheduler`.

/// A pending task request.
public struct PendingTask: Record, Equatable {
    public var request = BackgroundTaskRequest()
    public var submittedAt = Instant.epoch
    /// The time of its last refused run. The next try is not at once.
    public var refusedAt: Instant?
    /// The wait for its run; nil while a task of the app runs.
    public var wait: TaskWait?
    /// Its run that is due but has not begun. The request is removed when the run begins.
    public var run: String?
}

/// The wait for the run of a task request.
public struct TaskWait: Record, Equatable {
    /// The best time without other wakes; nil if that is the reserved time.
    public var aim: Instant?
    /// The limit of wakes per second under which the time is reserved; nil if there is none.
    public var ceiling: Int?
    /// The earliest time of the run.
    public var earliest = Instant.epoch
    /// The reserved time; nil while factors block the request.
    public var at: Instant?
    /// The factors that block the request.
    public var blockers: [TaskFactor] = []
}

extension TaskWait {
    /// The best time without other wakes; nil while factors block the request.
    var best: Instant? { aim ?? at }
}

/// The run of a task request.
public struct RunningTask: Record, Equatable {
    /// The request as it was when the run came due.
    public var submission = BackgroundTaskRequest()
    /// The identifier of the run.
    public var request = ""
    public var dueAt = Instant.epoch
    /// The time of the wake; nil until then.
    public var startedAt: Instant?
    /// The identifier of the wake.
    public var wake: String?
    /// The time at which it is given up.
    public var answerBy = Instant.epoch
    /// Whether a tester started it.
    public var simulated = false
    /// The reason why it was stopped; nil if it was not.
    public var stopped: TaskStopCause?
}

extension ScheduledApp {
    /// Whether the manifest allows the mode, the entitlement and the identifier of a request.
    func permits(_ request: BackgroundTaskRequest) -> Bool {
        declares(request.kind) && isEntitled(to: request.kind) && permittedTaskIdentifiers.contains(request.identifier)
    }

    /// Whether each process of the app registers a launch handler for an identifier before its launch ends.
    func hasLaunchHandler(for identifier: String) -> Bool { !missingLaunchHandlers.contains(identifier) }

    func declares(_ kind: TaskRequestKind) -> Bool {
        switch kind {
        case .refresh: declaresFetch
        case .processing, .healthResearch: declaresProcessing
        case .continuedProcessing: true
        }
    }

    /// Whether the app has the entitlement that a kind needs.
    func isEntitled(to kind: TaskRequestKind) -> Bool {
        switch kind {
        case .refresh, .processing, .continuedProcessing: true
        case .healthResearch: isEntitledToHealthResearch
        }
    }

    /// The next deadline of the task requests.
    var nextTaskDeadline: Instant? {
        if let runningTask { return runningTask.answerBy }
        return tasks.isEmpty ? nil : tasks.values.compactMap { $0.wait?.at }.min()
    }
}
