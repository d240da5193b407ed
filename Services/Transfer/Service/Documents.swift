import Contracts
import OrderedCollections
import Records
import Timeline
import TransferMachine

/// A task as its app, and whoever tests with it, sees it.
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
        attempts = task.attempts
        response = task.response
        error = task.error
        sha256 = task.sha256
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("attempts", &attempts)
        fields.field("bytesExpected", &bytesExpected)
        fields.field("bytesReceived", &bytesReceived)
        fields.field("error", &error)
        fields.field("isDiscretionary", &isDiscretionary)
        fields.field("kind", &kind)
        fields.field("response", &response)
        fields.field("sha256", &sha256)
        fields.field("state", &state)
        fields.field("task", &task)
        fields.field("until", &until)
        fields.field("url", &url)
        fields.field("waiting", &waiting)
    }
}

/// A session with its tasks.
struct SessionDocument: Record {
    var identifier = ""
    var app = ""
    var isAttached = false
    var isInvalidated = false
    var wake = BackgroundSession.WakeState.none
    var configuration = SessionConfiguration()
    var tasks: [TaskDocument] = []

    init() {}

    init(_ identifier: String, _ session: BackgroundSession) {
        self.identifier = identifier
        app = session.app
        isAttached = session.isAttached
        isInvalidated = session.isInvalidated
        wake = session.wake
        configuration = session.configuration
        tasks = session.tasks.map(TaskDocument.init)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        // The configuration's members stand beside the others, by the names that they were given with.
        configuration.visit(&fields)
        fields.field("identifier", &identifier)
        fields.field("isAttached", &isAttached)
        fields.field("isInvalidated", &isInvalidated)
        fields.field("tasks", &tasks)
        fields.field("wake", &wake)
    }
}

/// All sessions of an app.
struct SessionList: Record {
    var items: [SessionDocument] = []
    var next: String?

    init() {}

    init(_ state: TransferMachine, of app: String) {
        items = state.sessions.elements.filter { $0.value.app == app }.map { SessionDocument($0.key, $0.value) }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
