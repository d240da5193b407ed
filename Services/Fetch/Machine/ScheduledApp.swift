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
    /// What it waited for lately, oldest first; the last entry is the current one.
    public var pastWaits: [PastWait] = []
    public var usage = UsageProfile()
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
        fields.field("pastWaits", &pastWaits)
        fields.field("usage", &usage)
        fields.field("tasks", &tasks)
        fields.omittable("runningTask", &runningTask)
    }

    /// The next moment at which time itself is an input.
    var nextDeadline: Instant? { [running?.answerBy ?? wait?.at, nextTaskDeadline].compactMap(\.self).min() }

    /// Begins to wait for something else. What is older than a day tells nothing any more.
    mutating func wait(_ wait: Wait?, from time: Instant) {
        self.wait = wait
        let yesterday = time - .hours(24)
        while pastWaits.count > 1, pastWaits[1].from <= yesterday || pastWaits.count >= Self.pastWaitsKept {
            pastWaits.removeFirst()
        }
        pastWaits.append(PastWait(from: time, wait: wait))
    }

    /// So many waits are kept for the explanation of skipped slots.
    static let pastWaitsKept = 24
}

/// What an app's next refresh waits for.
public struct Wait: Record, Equatable {
    /// The chosen moment; nil while factors block it.
    public var at: Instant?
    /// When interval and floor have passed.
    public var earliest = Instant.epoch
    /// Why it must wait.
    public var blockers: [FetchFactor] = []

    public init() {}

    init(at: Instant?, earliest: Instant, blockers: [FetchFactor] = []) {
        self.at = at
        self.earliest = earliest
        self.blockers = blockers
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("at", &at)
        fields.field("earliest", &earliest)
        fields.field("blockers", &blockers)
    }
}

/// A wait, and since when it was in force; nil where nothing was waited for.
public struct PastWait: Record, Equatable {
    public var from = Instant.epoch
    public var wait: Wait?

    public init() {}

    init(from: Instant, wait: Wait?) {
        self.from = from
        self.wait = wait
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("from", &from)
        fields.omittable("wait", &wait)
    }
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
