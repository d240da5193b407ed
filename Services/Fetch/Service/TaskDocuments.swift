import Contracts
import FetchCore
import OrderedCollections
import Records
import Timeline

/// A pending task request.
struct TaskRequestDocument: Record {
    /// The factors that block the request until they change.
    var blockers: [TaskFactor] = []
    var request: Flattened<BackgroundTaskRequest> = BackgroundTaskRequest()
    /// The reserved time; null while factors block the request or another task of the app runs.
    var nextRun: Nullable<Instant> = nil
    var submittedAt = Instant.epoch

    init(_ task: PendingTask) {
        request = task.request
        submittedAt = task.submittedAt
        nextRun = task.wait?.at
        blockers = task.wait?.blockers ?? []
    }

    init(_ task: ContinuedTask) {
        request = task.request
        submittedAt = task.submittedAt
        nextRun = task.run?.dueAt
    }
}

/// The run of a task request, in progress or ended. Null means that something has not happened.
struct TaskRunDocument: Record {
    /// The bytes that its handler loaded, as the device reports; null if it does not.
    var bytesReceived: Nullable<Int> = nil
    var completedAt: Nullable<Instant> = nil
    var dueAt = Instant.epoch
    var elapsedSeconds: Nullable<Interval> = nil
    /// The energy that a refresh spent, in millijoules.
    var energyMillijoules = 0
    var identifier = ""
    var kind = TaskRequestKind.refresh
    /// A refusal of `lifecycle`, or `unanswered`.
    var refusal: Nullable<String> = nil
    var request = ""
    var result: Nullable<TaskResult> = nil
    var simulated = false
    var startedAt: Nullable<Instant> = nil
    /// The reason why a running task was stopped.
    var stopped: Nullable<TaskStopCause> = nil

    init(_ record: FetchEvent.TaskRecorded) {
        request = record.request
        identifier = record.identifier
        kind = record.kind
        dueAt = record.dueAt
        startedAt = record.startedAt
        completedAt = record.completedAt
        result = record.result
        refusal = record.refusal
        elapsedSeconds = record.elapsedSeconds
        bytesReceived = record.bytesReceived
        energyMillijoules = record.millijoules
        simulated = record.simulated
    }

    init(_ task: ContinuedTask, _ run: ContinuedTask.Run) {
        request = run.request
        identifier = task.request.identifier
        kind = task.request.kind
        dueAt = run.dueAt
        startedAt = run.startedAt
        stopped = run.stopped
    }

    init(_ running: RunningTask) {
        request = running.request
        identifier = running.submission.identifier
        kind = running.submission.kind
        dueAt = running.dueAt
        startedAt = running.startedAt
        stopped = running.stopped
        simulated = running.simulated
    }
}

/// The pending task requests of an app in order of submission, and the runs in progress.
struct TaskRequestList: Record {
    /// The runs of continued processing tasks.
    var continued: [TaskRunDocument] = []
    var items: [TaskRequestDocument] = []
    var running: Nullable<TaskRunDocument> = nil

    init(_ app: ScheduledApp) {
        continued = app.continuedTasks.values.compactMap { task in task.run.map { TaskRunDocument(task, $0) } }
        items =
            app.tasks.values.map { TaskRequestDocument($0) }
            + app.continuedTasks.values.filter { $0.run == nil }.map { TaskRequestDocument($0) }
        running = app.runningTask.map { TaskRunDocument($0) }
    }
}
