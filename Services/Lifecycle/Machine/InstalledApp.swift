public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// What the machine knows about one app of its device.
public struct InstalledApp: Record, Equatable {
    public var manifest = Manifest()
    public var state = AppState.notRunning
    /// Since when it is in this state; nil where it was never in another.
    public var stateSince: Instant?
    /// The user ended it in the switcher: the system does not launch it until the user did, or the device restarted.
    public var forceQuit = false
    /// The user's switch for this app alone.
    public var backgroundRefresh = Switch.on
    public var locationAuthorization = LocationAuthorization.notDetermined
    /// Whether its notifications are shown.
    public var notifications = Switch.on
    /// When the process began; nil without a process.
    public var launchedAt: Instant?
    /// Since when a process waits for the user's launch, made ahead by the system.
    public var prewarmedAt: Instant?
    /// Why it was told to end, while it has not returned from that.
    public var ending: EndReason?
    /// The state in which it was told so.
    public var endingFrom: AppState?
    /// Handlers that were called and have not returned.
    public var pendingCallbacks: [PendingCallback] = []
    public var tasks: OrderedDictionary<String, BackgroundTask> = [:]
    /// What is left of the background tasks' time as of ``taskClock``; nil outside the background, where it is unlimited.
    public var taskTime: Interval?
    /// Since when ``taskTime`` runs; nil while it stands still.
    public var taskClock: Instant?
    /// What it does that may keep it running in the background, by ``ActivityKind``.
    public var activities: OrderedDictionary<String, Activity> = [:]
    /// Whether it holds a lock on a file, which costs its life at suspension.
    public var holdsFileLock = false
    /// How many of its local notifications wait for the user.
    public var localNotifications = 0
    public var wakes: OrderedDictionary<String, Wake> = [:]
    /// The last few, so that a completion that comes twice is told from an unknown one.
    public var completedWakes: [String] = []
    public var snapshotTakenAt: Instant?
    public var snapshotLabel: String?
    /// When a Newsstand app was woken last.
    public var newsstandWokenAt: Instant?
    /// When it was resumed for VoIP, the last few times.
    public var voipResumptions: [Instant] = []
    /// The regions that it monitors, by their identifiers. They outlive its process.
    public var regions: OrderedDictionary<String, MonitoredRegion> = [:]
    /// Nil unless it monitors significant changes of the location. That outlives its process too.
    public var significantChanges: SignificantChanges?
    /// When it was told of one last.
    public var significantChangeAt: Instant?
    public var energy = EnergyLedger()
    /// How its last process ended. The log has them all.
    public var lastEnd: Termination?
    /// How often its processes ended, by reason, since it was installed.
    public var exits = ExitCounts()

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("manifest", &manifest)
        fields.field("state", &state)
        fields.omittable("stateSince", &stateSince)
        fields.field("forceQuit", &forceQuit)
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.field("locationAuthorization", &locationAuthorization)
        fields.field("notifications", &notifications)
        fields.omittable("launchedAt", &launchedAt)
        fields.omittable("prewarmedAt", &prewarmedAt)
        fields.omittable("ending", &ending)
        fields.omittable("endingFrom", &endingFrom)
        fields.field("pendingCallbacks", &pendingCallbacks)
        fields.field("tasks", &tasks)
        fields.omittable("taskTime", &taskTime)
        fields.omittable("taskClock", &taskClock)
        fields.field("activities", &activities)
        fields.field("holdsFileLock", &holdsFileLock)
        fields.field("localNotifications", &localNotifications)
        fields.field("wakes", &wakes)
        fields.field("completedWakes", &completedWakes)
        fields.omittable("snapshotTakenAt", &snapshotTakenAt)
        fields.omittable("snapshotLabel", &snapshotLabel)
        fields.omittable("newsstandWokenAt", &newsstandWokenAt)
        fields.field("voipResumptions", &voipResumptions)
        fields.field("regions", &regions)
        fields.omittable("significantChanges", &significantChanges)
        fields.omittable("significantChangeAt", &significantChangeAt)
        fields.field("energy", &energy)
        fields.omittable("lastEnd", &lastEnd)
        fields.field("exits", &exits)
    }

    /// True until a reported launch has returned.
    public var isLaunching: Bool { pendingCallbacks.contains { $0.callback == .didFinishLaunching } }

    /// Whether it has a process: suspended apps have, prewarmed ones too.
    public var isProcessAlive: Bool { state != .notRunning || prewarmedAt != nil }

    /// What it holds of the device's memory, in MB: what its manifest says, else 100 (our choice).
    public var memoryMB: Int { manifest.memoryMB ?? 100 }

    /// Whether anything keeps it from suspension.
    public var hasWork: Bool { !activities.isEmpty || hasLimitedWork }

    /// Whether anything does that has a limit: all but the continuous modes.
    var hasLimitedWork: Bool {
        !pendingCallbacks.isEmpty || !tasks.isEmpty || wakes.values.contains { $0.deadline != nil }
    }

    /// The end of the background tasks' time, as far as it can be told; nil in the foreground and while the device sleeps.
    public var taskDeadline: Instant? {
        guard let taskClock, let taskTime else { return nil }
        return taskClock + taskTime
    }

    /// The rest of the background tasks' time, never below zero; nil in the foreground, where it is unlimited.
    public func backgroundTimeRemaining(at now: Instant) -> Interval? {
        taskDeadline.map { max(.zero, $0 - now) } ?? taskTime
    }

    /// Whether a locked device does not sleep because of it. Its background tasks alone do that before iOS 7 only.
    func keepsAwake(tasksDo: Bool) -> Bool {
        state.isForeground || !activities.isEmpty || !pendingCallbacks.isEmpty
            || wakes.values.contains { $0.deadline != nil }
            || tasksDo && !tasks.isEmpty
    }

    /// Stops the clock of the background tasks: what is left stays.
    mutating func stopTaskClock(at now: Instant) {
        taskTime = backgroundTimeRemaining(at: now)
        taskClock = nil
    }

    /// Lets the clock of the background tasks run: not while the device sleeps, nor beside a continuous mode, which keeps the app
    /// running anyway (our choice).
    mutating func startTaskClock(at now: Instant, isAwake: Bool) {
        guard taskTime != nil, taskClock == nil, isAwake, activities.isEmpty, ending == nil else { return }
        taskClock = now
    }

    mutating func takeSnapshot(at now: Instant, _ label: String? = nil) {
        snapshotTakenAt = now
        snapshotLabel = label
    }

    /// What the app has still in hand when it leaves the screen is limited anew.
    mutating func bindWakes(from now: Instant) {
        for (id, wake) in wakes where wake.deadline == nil { wakes[id]?.deadline = now + wake.limit }
    }

    /// In the foreground nothing limits a wake.
    mutating func releaseWakes() {
        for wake in wakes.keys { wakes[wake]?.deadline = nil }
    }

    /// Takes a wake off, and remembers it for a while, so that a second completion is told from an unknown one.
    mutating func close(_ wake: String) {
        wakes.removeValue(forKey: wake)
        completedWakes = completedWakes.suffix(3) + [wake]
    }

    /// Counts a wake towards what limits the next ones, and to the ledger.
    mutating func note(_ kind: WakeKind, at time: Instant) {
        energy.wakes += EnergyLedger.wakeCost
        switch kind {
        case .newsstand: newsstandWokenAt = time
        case .voipPush, .voipSocket:
            voipResumptions = voipResumptions.suffix(LifecyclePolicy.voipResumptions - 1) + [time]
        case .fetch, .push, .transfer, .region, .significantChange, .refreshTask, .processingTask: break
        }
    }
}
