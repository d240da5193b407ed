import Contracts
import OrderedCollections
import Records
import TransferMachine

/// A session with its tasks.
struct SessionDocument: Record {
    var identifier = ""
    var app = ""
    var isAttached = false
    var isInvalidated = false
    var wake = BackgroundSession.WakeState.none
    /// Wakes for the session since the app was last in the foreground; they delay tasks that start in a wake.
    var relaunches = 0
    var configuration = SessionConfiguration()
    var tasks: [TaskDocument] = []

    init() {}

    init(_ identifier: String, _ session: BackgroundSession) {
        self.identifier = identifier
        app = session.app
        isAttached = session.isAttached
        isInvalidated = session.isInvalidated
        wake = session.wake
        relaunches = session.relaunches
        configuration = session.configuration
        tasks = session.tasks.map(TaskDocument.init)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        // The members of the configuration are members of this document, under their own names.
        configuration.visit(&fields)
        fields.field("identifier", &identifier)
        fields.field("isAttached", &isAttached)
        fields.field("isInvalidated", &isInvalidated)
        fields.field("relaunches", &relaunches)
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
