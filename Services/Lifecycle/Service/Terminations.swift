import Contracts
import EventLog
import LifecycleMachine
import OrderedCollections
import Records

/// The ends of an app's processes.
struct Terminations: Record {
    /// The latest first, as far back as the log goes.
    var items: [Termination] = []
    /// The value of `?cursor=` for older ones.
    var next: String?
    /// The counts by reason, since the app was installed.
    var counts = ExitCounts()
    var exitData = ExitData()

    init() {}

    /// - Parameter history: one page.
    init(_ app: InstalledApp, _ history: [EventHistory<LifecycleEvent.AppTerminated>.Entry], limit: Int) {
        // The swipe of a switcher entry without a process ends no process.
        items = history.filter { $0.data.from != .notRunning }.map { Termination($0.data, at: $0.time) }
        next = history.count == limit ? history.last.map { String($0.offset) } : nil
        counts = app.exits
        exitData = ExitData(app.exits)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("counts", &counts)
        fields.field("exitData", &exitData)
        fields.field("items", &items)
        fields.field("next", &next)
    }
}

/// The ends of all processes of a fleet's devices, counted.
struct FleetTerminations: Record {
    var fleet = ""
    var devices = 0
    var counts = ExitCounts()
    var exitData = ExitData()

    init() {}

    init(_ fleet: String, devices: Int, _ counts: ExitCounts) {
        self.fleet = fleet
        self.devices = devices
        self.counts = counts
        exitData = ExitData(counts)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("counts", &counts)
        fields.field("devices", &devices)
        fields.field("exitData", &exitData)
        fields.field("fleet", &fleet)
    }
}

/// The counts in the form of MetricKit's `MXAppExitMetric`. Reasons that MetricKit does not count are abnormal exits.
struct ExitData: Record {
    struct Foreground: Record {
        var normal = 0
        var memoryResourceLimit = 0
        var appWatchdog = 0
        var abnormal = 0

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("cumulativeAbnormalExitCount", &abnormal)
            fields.field("cumulativeAppWatchdogExitCount", &appWatchdog)
            fields.field("cumulativeMemoryResourceLimitExitCount", &memoryResourceLimit)
            fields.field("cumulativeNormalAppExitCount", &normal)
        }
    }

    struct Background: Record {
        var normal = 0
        var memoryPressure = 0
        var appWatchdog = 0
        var lockedFile = 0
        var taskAssertion = 0
        var abnormal = 0

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("cumulativeAbnormalExitCount", &abnormal)
            fields.field("cumulativeAppWatchdogExitCount", &appWatchdog)
            fields.field("cumulativeBackgroundTaskAssertionTimeoutExitCount", &taskAssertion)
            fields.field("cumulativeMemoryPressureExitCount", &memoryPressure)
            fields.field("cumulativeNormalAppExitCount", &normal)
            fields.field("cumulativeSuspendedWithLockedFileExitCount", &lockedFile)
        }
    }

    var foreground = Foreground()
    var background = Background()

    init() {}

    init(_ counts: ExitCounts) {
        for (name, count) in counts.foreground {
            switch EndReason(rawValue: name)?.exitKind ?? .abnormal {
            case .normal: foreground.normal += count
            case .memory: foreground.memoryResourceLimit += count
            case .watchdog: foreground.appWatchdog += count
            case .lockedFile, .taskAssertion, .abnormal: foreground.abnormal += count
            }
        }
        for (name, count) in counts.background {
            switch EndReason(rawValue: name)?.exitKind ?? .abnormal {
            case .normal: background.normal += count
            case .memory: background.memoryPressure += count
            case .watchdog: background.appWatchdog += count
            case .lockedFile: background.lockedFile += count
            case .taskAssertion: background.taskAssertion += count
            case .abnormal: background.abnormal += count
            }
        }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("backgroundExitData", &background)
        fields.field("foregroundExitData", &foreground)
    }
}

private enum ExitKind { case normal, memory, watchdog, lockedFile, taskAssertion, abnormal }

extension EndReason {
    fileprivate var exitKind: ExitKind {
        switch self {
        case .exit, .exitedOnSuspend, .forceQuit, .powerOff, .updated, .uninstalled: .normal
        case .memoryPressure: .memory
        case .launchTimeout, .didEnterBackgroundTimeout: .watchdog
        case .fileLockHeld: .lockedFile
        case .backgroundTaskTimeout: .taskAssertion
        case .crash, .fetchTimeout, .pushTimeout, .transferTimeout, .taskRequestTimeout, .thermal, .voipWithoutCall,
            .voipResumedTooOften, .uiOffMainThread, .uiInBackground, .workOutsideModes:
            .abnormal
        }
    }
}
