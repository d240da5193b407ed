import Contracts
import FetchMachine
import OrderedCollections
import Records
import Timeline

/// A pending task request.
struct TaskRequestDocument: Record {
    var request = BackgroundTaskRequest()
    var submittedAt = Instant.epoch
    /// The reserved time; null while factors block the request or another task of the app runs.
    var nextRun: Instant?
    /// The factors that block the request until they change.
    var blockers: [TaskFactor] = []

    init() {}

    init(_ task: PendingTask) {
        request = task.request
        submittedAt = task.submittedAt
        nextRun = task.wait?.at
        blockers = task.wait?.blockers ?? []
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("blockers", &blockers)
        request.visit(&fields)
        fields.field("nextRun", &nextRun)
        fields.field("submittedAt", &submittedAt)
    }
}

/// The run of a task request, in progress or ended. Null means that something has not happened.
struct TaskRunDocument: Record {
    var request = ""
    var identifier = ""
    var kind = TaskRequestKind.refresh
    var dueAt = Instant.epoch
    var startedAt: Instant?
    var completedAt: Instant?
    var result: TaskResult?
    /// A refusal of `lifecycle`, or `unanswered`.
    var refusal: String?
    var elapsedSeconds: Interval?
    /// The bytes that its handler loaded, as the device reports; null if it does not.
    var bytesReceived: Int?
    /// The energy that a refresh spent, in millijoules.
    var energyMillijoules = 0
    /// The reason why a running task was stopped.
    var stopped: TaskStopCause?
    var simulated = false

    init() {}

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

    init(_ running: RunningTask) {
        request = running.request
        identifier = running.submission.identifier
        kind = running.submission.kind
        dueAt = running.dueAt
        startedAt = running.startedAt
        stopped = running.stopped
        simulated = running.simulated
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("bytesReceived", &bytesReceived)
        fields.field("completedAt", &completedAt)
        fields.field("dueAt", &dueAt)
        fields.field("elapsedSeconds", &elapsedSeconds)
        fields.field("energyMillijoules", &energyMillijoules)
        fields.field("identifier", &identifier)
        fields.field("kind", &kind)
        fields.field("refusal", &refusal)
        fields.field("request", &request)
        fields.field("result", &result)
        fields.field("simulated", &simulated)
        fields.field("startedAt", &startedAt)
        fields.field("stopped", &stopped)
    }
}

/// Runs of an app's task requests, newest first.
struct TaskRunPage: Record {
    var items: [TaskRunDocument] = []
    /// The cursor of the next page; null on the last one.
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}

/// The pending task requests of an app in order of submission, and the run in progress.
struct TaskRequestList: Record {
    var items: [TaskRequestDocument] = []
    var running: TaskRunDocument?

    init() {}

    init(_ app: ScheduledApp) {
        items = app.tasks.values.map(TaskRequestDocument.init)
        running = app.runningTask.map(TaskRunDocument.init)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("running", &running)
    }
}
