import Contracts
import EventLog
import HTTPKit
import LifecycleCore
import OrderedCollections
import Records

/// The ends of an app's processes.
struct Terminations: Record {
    /// The counts by reason, since the app was installed.
    var counts = ExitCounts()
    var exitData = ExitData()
    /// The latest first, as far back as the log goes.
    var items: [Termination] = []
    /// The value of `?cursor=` for older ones.
    var next: Nullable<String> = nil

    /// - Parameter history: one page.
    init(
        _ app: InstalledApp, _ history: [EventHistory<LifecycleEvent.AppTerminated>.Entry], limit: Int,
        _ incarnation: LogIncarnation
    ) {
        // The swipe of a switcher entry without a process ends no process.
        items = history.filter { $0.data.from != .notRunning }.map { Termination($0.data, at: $0.time) }
        next = history.count == limit ? history.last.map { incarnation.marked(String($0.offset)) } : nil
        counts = app.exits
        exitData = ExitData(app.exits)
    }
}

/// The ends of all processes of a fleet's devices, counted.
struct FleetTerminations: Record {
    var counts = ExitCounts()
    var devices = 0
    var exitData = ExitData()
    var fleet = ""

    init(_ fleet: String, devices: Int, _ counts: ExitCounts) {
        self.fleet = fleet
        self.devices = devices
        self.counts = counts
        exitData = ExitData(counts)
    }
}

/// The counts in the form of MetricKit's `MXAppExitMetric`. Reasons that MetricKit does not count are abnormal exits.
struct ExitData: Record {
    struct Foreground: Record {
        var cumulativeAbnormalExitCount = 0
        var cumulativeAppWatchdogExitCount = 0
        var cumulativeMemoryResourceLimitExitCount = 0
        var cumulativeNormalAppExitCount = 0
    }

    struct Background: Record {
        var cumulativeAbnormalExitCount = 0
        var cumulativeAppWatchdogExitCount = 0
        var cumulativeBackgroundTaskAssertionTimeoutExitCount = 0
        var cumulativeMemoryPressureExitCount = 0
        var cumulativeNormalAppExitCount = 0
        var cumulativeSuspendedWithLockedFileExitCount = 0
    }

    var backgroundExitData = Background()
    var foregroundExitData = Foreground()

    init(_ counts: ExitCounts) {
        for (name, count) in counts.foreground {
            switch EndReason(rawValue: name)?.exitKind ?? .abnormal {
            case .normal: foregroundExitData.cumulativeNormalAppExitCount += count
            case .memory: foregroundExitData.cumulativeMemoryResourceLimitExitCount += count
            case .watchdog: foregroundExitData.cumulativeAppWatchdogExitCount += count
            case .lockedFile, .taskAssertion, .abnormal: foregroundExitData.cumulativeAbnormalExitCount += count
            }
        }
        for (name, count) in counts.background {
            switch EndReason(rawValue: name)?.exitKind ?? .abnormal {
            case .normal: backgroundExitData.cumulativeNormalAppExitCount += count
            case .memory: backgroundExitData.cumulativeMemoryPressureExitCount += count
            case .watchdog: backgroundExitData.cumulativeAppWatchdogExitCount += count
            case .lockedFile: backgroundExitData.cumulativeSuspendedWithLockedFileExitCount += count
            case .taskAssertion: backgroundExitData.cumulativeBackgroundTaskAssertionTimeoutExitCount += count
            case .abnormal: backgroundExitData.cumulativeAbnormalExitCount += count
            }
        }
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
            .voipResumedTooOften, .uiOffMainThread, .uiInBackground:
            .abnormal
        }
    }
}
