import Contracts
import FetchMachine
import OrderedCollections
import Records
import Timeline

/// A pending task request.
struct TaskRequestDocument: Record {
    var request = BackgroundTaskRequest()
    var submittedAt = Instant.epoch
    /// The chosen moment; nil while it must wait, and while another task of the app runs.
    var nextRun: Instant?
    /// Why it must wait, until they change.
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

/// The run of a task request, under way or ended; null is what has not happened.
struct TaskRunDocument: Record {
    var request = ""
    var identifier = ""
    var kind = TaskRequestKind.refresh
    var dueAt = Instant.epoch
    var startedAt: Instant?
    var completedAt: Instant?
    var result: TaskResult?
    /// A word of `lifecycle`'s refusals, or `unanswered`.
    var refusal: String?
    var elapsedSeconds: Interval?
    /// What its handler loaded, as the device says; null where it does not.
    var bytesReceived: Int?
    /// What a refresh spent of the energy budgets, in millijoules.
    var energyMillijoules = 0
    /// Why it was told to end, while it runs.
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
    /// Where the next page begins; nil on the last one.
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}

/// The pending task requests of an app in order of submission, and the run under way.
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
