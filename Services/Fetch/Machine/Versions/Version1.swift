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

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("profile", &profile)
        fields.omittable("fleet", &fleet)
        fields.omittable("timeZone", &timeZone)
        fields.field("isPoweredOn", &isPoweredOn)
        fields.field("conditions", &conditions)
        fields.omittable("lockedAt", &lockedAt)
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.field("isBackgroundRefreshRestricted", &isBackgroundRefreshRestricted)
        fields.field("apps", &apps)
    }

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

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("declaresFetch", &declaresFetch)
            fields.field("declaresProcessing", &declaresProcessing)
            fields.field("permittedTaskIdentifiers", &permittedTaskIdentifiers)
            fields.field("backgroundRefresh", &backgroundRefresh)
            fields.field("forceQuit", &forceQuit)
            fields.field("inForeground", &inForeground)
            fields.omittable("openedAt", &openedAt)
            fields.field("interval", &interval)
            fields.omittable("intervalSetAt", &intervalSetAt)
            fields.omittable("endedAt", &endedAt)
            fields.omittable("refusedAt", &refusedAt)
            fields.omittable("newDataAt", &newDataAt)
            fields.omittable("running", &running)
            fields.omittable("wait", &wait)
            fields.field("pastWaits", &pastWaits)
            fields.field("usage", &usage)
            fields.field("tasks", &tasks)
            fields.omittable("runningTask", &runningTask)
        }
    }

    struct Wait: Record {
        var at: Instant?
        var earliest = Instant.epoch
        var blockers: [Factor] = []

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("at", &at)
            fields.field("earliest", &earliest)
            fields.field("blockers", &blockers)
        }
    }

    struct PastWait: Record {
        var from = Instant.epoch
        var wait: Wait?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("from", &from)
            fields.omittable("wait", &wait)
        }
    }

    struct Usage: Record {
        var hours: [Int] = []
        var week = 0

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("hours", &hours)
            fields.field("week", &week)
        }
    }

    struct PendingTask: Record {
        var request = BackgroundTaskRequest()
        var submittedAt = Instant.epoch
        var refusedAt: Instant?
        var wait: TaskWait?
        var run: String?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("request", &request)
            fields.field("submittedAt", &submittedAt)
            fields.omittable("refusedAt", &refusedAt)
            fields.omittable("wait", &wait)
            fields.omittable("run", &run)
        }
    }

    struct TaskWait: Record {
        var at: Instant?
        var blockers: [TaskFactor] = []

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("at", &at)
            fields.field("blockers", &blockers)
        }
    }

    /// Enum values are stored by index. A value that was inserted later shifted the others.
    enum Factor: String, Word {
        case battery, lowPowerMode, usage, appSwitcher, backgroundRefresh, rateLimit, network, deviceActivity
    }
}
