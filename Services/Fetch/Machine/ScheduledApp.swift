public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// What the machine knows of one app of its device.
public struct ScheduledApp: Record, Equatable {
    /// Whether its manifest declares the mode `fetch`; without, an interval has no effect.
    public var declaresFetch = false
    /// Whether it declares the mode `processing`.
    public var declaresProcessing = false
    /// `BGTaskSchedulerPermittedIdentifiers`.
    public var permittedTaskIdentifiers: [String] = []
    /// The user's switch for this app alone.
    public var backgroundRefresh = Switch.on
    /// The user ended it in the switcher and has not opened it since.
    public var forceQuit = false
    public var inForeground = false
    /// When the user opened it last.
    public var openedAt: Instant?
    public var interval = FetchInterval.never
    /// When the interval was set.
    public var intervalSetAt: Instant?
    /// The end of the last refresh that began.
    public var endedAt: Instant?
    /// The last refresh that was refused: a refusal is not followed by another try at once.
    public var refusedAt: Instant?
    /// The end of the last refresh with new data.
    public var newDataAt: Instant?
    public var running: RunningFetch?
    /// What it waits for; nil where no refresh is wanted, and while one runs.
    public var wait: Wait?
    public var usage = UsageProfile()
    public var standing = Standing()
    /// What its refreshes have spent today.
    public var spending = Spending()
    public var contentAges = ContentAges()
    /// The pending task requests by their identifiers, in order of submission.
    public var tasks: OrderedDictionary<String, PendingTask> = [:]
    /// The run of a task request, from its due moment to its end: one an app.
    public var runningTask: RunningTask?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
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
        fields.field("usage", &usage)
        fields.field("standing", &standing)
        fields.field("spending", &spending)
        fields.field("contentAges", &contentAges)
        fields.field("tasks", &tasks)
        fields.omittable("runningTask", &runningTask)
    }

    /// Whether intervals have an effect. Permitted task identifiers in the manifest disable background fetch from iOS 13 on (Apple,
    /// "Using background tasks to update your app").
    public func fetches(on profile: ProfileName?) -> Bool {
        guard declaresFetch, let profile, profile != .ios6 else { return false }
        return !profile.hasTaskRequests || permittedTaskIdentifiers.isEmpty
    }

    /// The next moment at which time itself is an input.
    var nextDeadline: Instant? {
        let refresh = running?.answerBy ?? wait?.at
        guard let task = nextTaskDeadline else { return refresh }
        return refresh.map { min($0, task) } ?? task
    }
}

/// What an app's next refresh waits for.
public struct Wait: Record, Equatable {
    /// The moment that is held for it; nil while factors block it.
    public var at: Instant?
    /// The moment that would be best if no other wake were in its way; nil where that is the one that is held.
    public var aim: Instant?
    /// The ceiling of the suite under which it is held; nil where there is none.
    public var ceiling: Int?
    /// When interval and floor have passed.
    public var earliest = Instant.epoch
    /// When the budgets allow it; nil where they do by then.
    public var fundedAt: Instant?
    /// Why it must wait.
    public var blockers: [FetchFactor] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("aim", &aim)
        fields.omittable("at", &at)
        fields.field("blockers", &blockers)
        fields.omittable("ceiling", &ceiling)
        fields.field("earliest", &earliest)
        fields.omittable("fundedAt", &fundedAt)
    }

    /// What would be best: where it waits, and nothing blocks it.
    var best: Instant? { aim ?? at }
}

/// A refresh under way.
public struct RunningFetch: Record, Equatable {
    public var fetch = ""
    public var dueAt = Instant.epoch
    /// When the app was woken; nil until then.
    public var startedAt: Instant?
    public var wake: String?
    /// When it is given up.
    public var answerBy = Instant.epoch
    public var simulated = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("answerBy", &answerBy)
        fields.field("dueAt", &dueAt)
        fields.field("fetch", &fetch)
        fields.field("simulated", &simulated)
        fields.omittable("startedAt", &startedAt)
        fields.omittable("wake", &wake)
    }
}

extension FetchMachine {
    /// The apps in their order, to look at single fields of each by its index: an app is large, and a loop over the apps
    /// themselves copies each.
    var known: [ScheduledApp] { apps.values.elements }
}
