import Contracts
import OrderedCollections
import Records
import Timeline

/// The stored form of version 1. Types that are not declared here have not changed since.
struct Version1: Record {
    var profile: ProfileName?
    var fleet: String?
    var timeZone: String?
    var isPoweredOn = true
    var conditions = Conditions.atRegistration
    var lockedAt: Instant?
    var backgroundRefresh = Switch.on
    var isBackgroundRefreshRestricted = false
    var apps: OrderedDictionary<String, App> = [:]

    struct App: Record {
        var declaresFetch = false
        var declaresProcessing = false
        var permittedTaskIdentifiers: [String] = []
        var backgroundRefresh = Switch.on
        var forceQuit = false
        var inForeground = false
        var openedAt: Instant?
        var interval = FetchInterval.never
        var intervalSetAt: Instant?
        var endedAt: Instant?
        var refusedAt: Instant?
        var newDataAt: Instant?
        var running: RunningFetch?
        var wait: Wait?
        var pastWaits: [PastWait] = []
        var usage = Usage()
        var tasks: OrderedDictionary<String, PendingTask> = [:]
        var runningTask: RunningTask?
    }

    struct Wait: Record {
        var at: Instant?
        var earliest = Instant.epoch
        var blockers: [Factor] = []
    }

    struct PastWait: Record {
        var from = Instant.epoch
        var wait: Wait?
    }

    struct Usage: Record {
        var hours: [Int] = []
        var week = 0
    }

    struct PendingTask: Record {
        var request = BackgroundTaskRequest()
        var submittedAt = Instant.epoch
        var refusedAt: Instant?
        var wait: TaskWait?
        var run: String?
    }

    struct TaskWait: Record {
        var at: Instant?
        var blockers: [TaskFactor] = []
    }

    /// Enum values are stored by index. A value that was inserted later shifted the others.
    enum Factor: String, WireEnum {
        case battery, lowPowerMode, usage, appSwitcher, backgroundRefresh, rateLimit, network, deviceActivity
    }
}
