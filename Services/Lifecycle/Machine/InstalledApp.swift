public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// The state of an installed app.
public struct InstalledApp: Record, Equatable {
    public var manifest = Manifest()
    public var state = AppState.notRunning
    /// The start of the current state; nil if the app was never in another state.
    public var stateSince: Instant?
    /// Whether the user ended the app in the switcher. The system does not launch it until the user does or the device
    /// restarts.
    public var forceQuit = false
    /// The user's Background App Refresh setting of this app.
    public var backgroundRefresh = Switch.on
    public var locationAccuracy = LocationAccuracy.full
    public var locationAuthorization = LocationAuthorization.notDetermined
    public var notifications = NotificationSettings()
    /// Whether its scene has connected in this process.
    public var isSceneConnected = false
    /// The launch time; nil without a process.
    public var launchedAt: Instant?
    /// The time at which the system prewarmed the process; nil if it is not prewarmed.
    public var prewarmedAt: Instant?
    /// The termination reason while `willTerminate` has not returned.
    public var ending: EndReason?
    /// The state at the start of the termination.
    public var endingFrom: AppState?
    /// Handlers that were called and have not returned.
    public var pendingCallbacks: [PendingCallback] = []
    /// The open background tasks by id.
    public var tasks: OrderedDictionary<String, BackgroundTask> = [:]
    /// The remaining time of background tasks at ``taskClock``; nil outside the background, where it is unlimited.
    public var taskTime: Interval?
    /// The time since which ``taskTime`` runs; nil while it is stopped.
    public var taskClock: Instant?
    /// The activities that may keep the app running in the background, by ``ActivityKind``.
    public var activities: OrderedDictionary<String, Activity> = [:]
    /// Whether the app holds a file lock. The system kills it for that at suspension.
    public var holdsFileLock = false
    /// The number of local notifications that the user has not opened.
    public var localNotifications = 0
    /// The open wakes by id.
    public var wakes: OrderedDictionary<String, Wake> = [:]
    /// The last four completed wakes, to distinguish a repeated completion from an unknown wake.
    public var completedWakes: [String] = []
    /// The time of the last snapshot for the switcher.
    public var snapshotTakenAt: Instant?
    public var snapshotLabel: String?
    /// The last wake of a Newsstand app.
    public var newsstandWokenAt: Instant?
    /// The times of the last wakes for VoIP.
    public var voipResumptions: [Instant] = []
    /// The times of the last ends because of a VoIP push without a call.
    public var unreportedCalls: [Instant] = []
    /// The monitored regions by identifier. They survive the end of the process.
    public var regions: OrderedDictionary<String, MonitoredRegion> = [:]
    /// The monitored beacon regions by identifier. They survive the end of the process.
    public var beaconRegions: OrderedDictionary<String, MonitoredBeaconRegion> = [:]
    /// The monitors by name. Their conditions survive the end of the process.
    public var monitors: OrderedDictionary<String, Monitor> = [:]
    /// The monitoring of significant location changes, which survives the end of the process; nil if it is off.
    public var significantChanges: SignificantChanges?
    /// Whether the app monitors visits, which survives the end of the process.
    public var monitorsVisits = false
    /// The time of the last reported visit.
    public var visitReportedAt: Instant?
    /// The time of the last reported significant change.
    public var significantChangeAt: Instant?
    /// The Bluetooth managers that wait for events, by ``BluetoothRole``.
    public var bluetooth: OrderedDictionary<String, BluetoothManager> = [:]
    /// The background deliveries of HealthKit by type of samples.
    public var health: OrderedDictionary<String, EnabledHealthDelivery> = [:]
    /// The time at which the person on a built-in device leaves the app after opening its notification; nil otherwise.
    public var usedUntil: Instant?
    public var energy = EnergyLedger()
    /// The end of the last process. The log has all ends.
    public var lastEnd: Termination?
    /// The number of ends of its processes by reason, since the installation.
    public var exits = ExitCounts()

    /// A new installation.
    init(_ manifest: Manifest) {
        self.init()
        self.manifest = manifest
        notifications = NotificationSettings(installing: manifest)
    }

    /// Whether the launch handlers have not returned yet.
    public var isLaunching: Bool { pendingCallbacks.contains { $0.callback == .didFinishLaunching } }

    /// Whether the app has a process. Suspended and prewarmed apps have one.
    public var isProcessAlive: Bool { state != .notRunning || prewarmedAt != nil }

    /// The memory of the app in MB: the value of the manifest, else 100 (our choice).
    public var memoryMB: Int { manifest.memoryMB ?? 100 }

    /// Whether any work prevents suspension.
    public var hasWork: Bool { !activities.isEmpty || hasLimitedWork }

    /// Whether work with a time limit prevents suspension: all work except activities.
    var hasLimitedWork: Bool {
        !pendingCallbacks.isEmpty || !tasks.isEmpty || wakes.values.contains { $0.deadline != nil }
    }

    /// The end of the time of background tasks; nil while the clock is stopped, as in the foreground or in sleep.
    public var taskDeadline: Instant? {
        guard let taskClock, let taskTime else { return nil }
        return taskClock + taskTime
    }

    /// Returns the remaining time of background tasks, at least zero; nil in the foreground, where it is unlimited.
    public func backgroundTimeRemaining(at now: Instant) -> Interval? {
        taskDeadline.map { max(.zero, $0 - now) } ?? taskTime
    }

    /// Whether the app keeps a locked device awake. Background tasks do that only before iOS 7 (`tasksDo`).
    func keepsAwake(tasksDo: Bool) -> Bool {
        state.isForeground || !activities.isEmpty || !pendingCallbacks.isEmpty
            || wakes.values.contains { $0.deadline != nil }
            || tasksDo && !tasks.isEmpty
    }

    /// Stops the clock of background tasks and keeps the remaining time.
    mutating func stopTaskClock(at now: Instant) {
        taskTime = backgroundTimeRemaining(at: now)
        taskClock = nil
    }

    /// Starts the clock of background tasks. It does not run while the device sleeps, or while an activity keeps the
    /// app running (our choice).
    mutating func startTaskClock(at now: Instant, isAwake: Bool) {
        guard taskTime != nil, taskClock == nil, isAwake, activities.isEmpty, ending == nil else { return }
        taskClock = now
    }

    mutating func takeSnapshot(at now: Instant, _ label: String? = nil) {
        snapshotTakenAt = now
        snapshotLabel = label
    }

    /// Starts the limits of open wakes again when the app leaves the screen.
    mutating func bindWakes(from now: Instant) {
        for (id, wake) in wakes where wake.deadline == nil { wakes[id]?.deadline = now + wake.limit }
    }

    /// Removes the limits of wakes, which do not apply in the foreground.
    mutating func releaseWakes() {
        for wake in wakes.keys { wakes[wake]?.deadline = nil }
    }

    /// Removes a wake, and adds it to ``completedWakes``.
    mutating func close(_ wake: String) {
        wakes.removeValue(forKey: wake)
        completedWakes = completedWakes.suffix(3) + [wake]
    }

    /// Records a wake for the rate limits of later wakes.
    mutating func note(_ kind: WakeKind, at time: Instant) {
        switch kind {
        case .newsstand: newsstandWokenAt = time
        case .voipPush, .voipSocket:
            voipResumptions = voipResumptions.suffix(LifecyclePolicy.voipResumptions - 1) + [time]
        case .fetch, .push, .pushToTalk, .transfer, .region, .significantChange, .visit, .monitor, .refreshTask,
            .processingTask, .continuedProcessingTask, .bluetoothCentral, .bluetoothPeripheral, .health,
            .notificationResponse:
            break
        }
    }
}
