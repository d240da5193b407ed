import Contracts
import OrderedCollections
import Records
import Timeline
import TransferCore

/// The reasons why the tasks of an app do not move now, and why its sessions do not wake it.
struct Explanation: Record {
    struct Session: Record {
        /// The delay of a task that starts in the background now; nil without one.
        var delaySeconds: Nullable<Double> = nil
        var identifier = ""
        var isAttached = false
        /// The reasons why the session does not wake its app now; empty if it is about to.
        var reasonsAgainstWake: [WakeHindrance] = []
        var relaunches = 0
        var tasks: [Task] = []
    }

    struct Task: Record {
        /// The time at which the task fails if it has not finished; nil while it is suspended, or without a limit.
        var deadline: Nullable<Instant> = nil
        /// All conditions that must change before the task moves. The first one is `waiting` of the task.
        var hindrances: [Hindrance] = []
        var isDiscretionary = false
        var isMoving = false
        var state = TransferState.running
        var task = 0
    }

    var app = ""
    var battery = Battery()
    var forceQuit = false
    var lowPowerMode = false
    var network = Network()
    var poweredOn = true
    /// The readings of the disputed rules that decided about unfinished tasks and about wakes.
    var readings: [RuleReading] = []
    var sessions: [Session] = []
    var state = AppPresence.notRunning

    /// - Parameter view: the state of the installed app.
    init(_ app: String, _ view: AppView, _ device: TransferMachine, at now: Instant, _ policy: TransferPolicy) {
        self.app = app
        state = view.state
        forceQuit = view.forceQuit
        network = device.network
        battery = device.battery
        lowPowerMode = device.isLowPowerMode
        poweredOn = device.isPoweredOn
        readings = DisputedRule.allCases.filter { rule in view.sessions.values.contains { $0.isDecided(by: rule) } }
            .map { RuleReading(reading: policy.generations[$0], rule: $0) }
        for (id, session) in view.sessions {
            let key = SessionKey(app: app, session: id)
            var entry = Session()
            entry.identifier = id
            entry.isAttached = session.isAttached
            entry.reasonsAgainstWake = device.reasonsAgainstWake(session, view, policy)
            entry.relaunches = session.relaunches
            entry.delaySeconds = policy.delay(after: session.relaunches)?.seconds
            entry.tasks = session.tasks.filter { $0.state != .completed }.map { task in
                var document = Task()
                document.task = task.task
                document.state = task.state
                document.isMoving = task.attempt != nil
                document.isDiscretionary = task.isDiscretionary
                if task.attempt == nil { document.hindrances = device.hindrances(of: task, in: key, at: now, policy) }
                document.deadline = task.timeout?.until
                return document
            }
            sessions.append(entry)
        }
    }
}

extension BackgroundSession {
    /// Whether a disputed rule decided about one of the tasks, or about a wake.
    fileprivate func isDecided(by rule: DisputedRule) -> Bool {
        let unfinished = tasks.filter { $0.state != .completed }
        switch rule {
        case .resourceTimeout:
            let limit = SessionConfiguration().timeoutIntervalForResource
            return !unfinished.isEmpty && configuration.timeoutIntervalForResource == limit
        case .sessionTransfers:
            return !configuration.isDiscretionary && unfinished.contains(where: \.hasStarted)
        case .transferErrors: return hasTasksUnderWay && undelivered.contains { self[$0]?.error != nil }
        case .appSwitcher, .backgroundAppRefresh, .exitsOnSuspend, .redirects, .silentNotifications: return false
        }
    }
}
