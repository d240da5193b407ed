import Contracts
import LifecycleMachine
import OrderedCollections
import Records
import Timeline

/// What happened to an app.
struct Transition: Record {
    var event = AppTransition.launch

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("event", &event) }
}

/// What happened to a device's power.
struct Power: Record {
    var event = PowerEvent.boot

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("event", &event) }
}

/// An app after a command, with the callbacks that the command delivered to it, in order.
struct AppDocument: Record {
    var app = ""
    var state: AppState?
    var callbacks: [Callback] = []

    init() {}

    init(_ app: String, _ record: InstalledApp?, _ events: [LifecycleEvent]) {
        self.app = app
        state = record?.state
        callbacks = events.filter { $0.data.app == app }.flatMap(\.callbacks)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("callbacks", &callbacks)
        fields.field("state", &state)
    }
}

/// A begun background task and the time that the app has left; `null` and unlimited in the foreground.
struct TaskDocument: Record {
    var task = ""
    var secondsRemaining: Interval?
    var unlimited = false

    init() {}

    init(_ begun: LifecycleEvent.TaskBegun) {
        task = begun.task
        secondsRemaining = begun.secondsRemaining
        unlimited = begun.secondsRemaining == nil
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("secondsRemaining", &secondsRemaining)
        fields.field("task", &task)
        fields.field("unlimited", &unlimited)
    }
}

/// The app switcher. It shows no difference between background and suspended.
struct Switcher: Record {
    struct Entry: Record {
        var app = ""
        var processAlive = false
        var snapshotTakenAt: Instant?
        var snapshotLabel: String?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("processAlive", &processAlive)
            fields.field("snapshotLabel", &snapshotLabel)
            fields.field("snapshotTakenAt", &snapshotTakenAt)
        }
    }

    var items: [Entry] = []
    var next: String?

    init() {}

    init(_ state: LifecycleMachine) {
        items = state.switcher.map { app in
            var entry = Entry()
            entry.app = app
            entry.processAlive = state.apps[app]?.state.isRunning ?? false
            entry.snapshotTakenAt = state.apps[app]?.snapshotTakenAt
            entry.snapshotLabel = state.apps[app]?.snapshotLabel
            return entry
        }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}

extension LifecycleEvent {
    /// The callbacks that it delivers, in order.
    var callbacks: [Callback] {
        switch self {
        case .appLaunched(let event): event.callbacks
        case .appActivated(let event): event.callbacks
        case .appResigned(let event): event.callbacks
        case .appBackgrounded(let event): event.callbacks
        case .appSuspended(let event): event.callbacks
        case .appWoken(let event): event.callbacks
        case .appTerminated(let event): event.callbacks
        case .deviceRegistered, .deviceUpdated, .deviceDeregistered, .devicePowered, .conditionsChanged,
            .settingsChanged, .appInstalled, .appUninstalled, .callbackCompleted, .taskBegun, .taskEnded,
            .taskExpiring, .wakeCompleted, .wakeRefused:
            []
        }
    }
}
