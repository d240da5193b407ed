import Contracts
import OrderedCollections
import Records
import Timeline
import TransferMachine

/// Why the transfers of an app fare as they do now: of each task all that keeps it, of each session all that keeps its app from
/// being woken.
struct Explanation: Record {
    struct Session: Record {
        var identifier = ""
        var isAttached = false
        /// What keeps the app from being woken for it now; empty where it is about to be.
        var reasonsAgainstWake: [WakeHindrance] = []
        var relaunches = 0
        /// How long a task would wait that was started in the background now; nil where it would not.
        var delaySeconds: Double?
        var tasks: [Task] = []

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("delaySeconds", &delaySeconds)
            fields.field("identifier", &identifier)
            fields.field("isAttached", &isAttached)
            fields.field("reasonsAgainstWake", &reasonsAgainstWake)
            fields.field("relaunches", &relaunches)
            fields.field("tasks", &tasks)
        }
    }

    struct Task: Record {
        var task = 0
        var state = TransferState.running
        var isMoving = false
        var isDiscretionary = false
        /// All that would have to change before it moves, the one that is told as `waiting` first.
        var hindrances: [Hindrance] = []
        /// When it fails unless it has finished.
        var deadline: Instant?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("deadline", &deadline)
            fields.field("hindrances", &hindrances)
            fields.field("isDiscretionary", &isDiscretionary)
            fields.field("isMoving", &isMoving)
            fields.field("state", &state)
            fields.field("task", &task)
        }
    }

    var app = ""
    var state = AppPresence.notRunning
    var forceQuit = false
    var network = Network()
    var battery = Battery()
    var lowPowerMode = false
    var poweredOn = true
    var sessions: [Session] = []

    init() {}

    /// - Parameter view: of the app, which is installed.
    init(_ app: String, _ view: AppView, _ device: TransferMachine, at now: Instant, _ policy: TransferPolicy) {
        self.app = app
        state = view.state
        forceQuit = view.forceQuit
        network = device.network
        battery = device.battery
        lowPowerMode = device.isLowPowerMode
        poweredOn = device.isPoweredOn
        for (id, session) in device.sessions where session.app == app {
            var told = Session()
            told.identifier = id
            told.isAttached = session.isAttached
            told.reasonsAgainstWake = device.reasonsAgainstWake(session, view)
            told.relaunches = session.relaunches
            told.delaySeconds = policy.delay(after: session.relaunches)?.seconds
            told.tasks = session.tasks.filter { $0.state != .completed }.map { task in
                var told = Task()
                told.task = task.task
                told.state = task.state
                told.isMoving = task.attempt != nil
                told.isDiscretionary = task.isDiscretionary
                if task.attempt == nil { told.hindrances = device.hindrances(of: task, in: id, at: now, policy) }
                told.deadline = task.deadline
                return told
            }
            sessions.append(told)
        }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("battery", &battery)
        fields.field("forceQuit", &forceQuit)
        fields.field("lowPowerMode", &lowPowerMode)
        fields.field("network", &network)
        fields.field("poweredOn", &poweredOn)
        fields.field("sessions", &sessions)
        fields.field("state", &state)
    }
}
