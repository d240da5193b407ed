public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// What the machine knows about one app of its device.
public struct InstalledApp: Record, Equatable {
    public var manifest = Manifest()
    public var state = AppState.notRunning
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
    /// Handlers that were called and have not returned.
    public var pendingCallbacks: [PendingCallback] = []
    public var tasks: OrderedDictionary<String, BackgroundTask> = [:]
    /// What is left of the background tasks' time as of ``taskClock``; nil outside the background, where it is unlimited.
    public var taskTime: Interval?
    /// Since when ``taskTime`` runs; nil while it stands still.
    public var taskClock: Instant?
    public var wakes: OrderedDictionary<String, Wake> = [:]
    /// The last few, so that a completion that comes twice is told from an unknown one.
    public var completedWakes: [String] = []
    public var snapshotTakenAt: Instant?
    public var snapshotLabel: String?
    /// How the last process ended.
    public var lastEnd: Termination?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("manifest", &manifest)
        fields.field("state", &state)
        fields.field("forceQuit", &forceQuit)
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.field("locationAuthorization", &locationAuthorization)
        fields.field("notifications", &notifications)
        fields.omittable("launchedAt", &launchedAt)
        fields.omittable("prewarmedAt", &prewarmedAt)
        fields.omittable("ending", &ending)
        fields.field("pendingCallbacks", &pendingCallbacks)
        fields.field("tasks", &tasks)
        fields.omittable("taskTime", &taskTime)
        fields.omittable("taskClock", &taskClock)
        fields.field("wakes", &wakes)
        fields.field("completedWakes", &completedWakes)
        fields.omittable("snapshotTakenAt", &snapshotTakenAt)
        fields.omittable("snapshotLabel", &snapshotLabel)
        fields.omittable("lastEnd", &lastEnd)
    }

    /// True until a reported launch has returned.
    public var isLaunching: Bool { pendingCallbacks.contains { $0.callback == .didFinishLaunching } }

    /// Whether it has a process: suspended apps have, prewarmed ones too.
    public var isProcessAlive: Bool { state != .notRunning || prewarmedAt != nil }

    /// What it holds of the device's memory, in MB: what its manifest says, else 100 (our choice).
    public var memoryMB: Int { manifest.memoryMB ?? 100 }

    /// Whether anything keeps it from suspension.
    public var hasWork: Bool {
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
        state.isForeground || !pendingCallbacks.isEmpty || wakes.values.contains { $0.deadline != nil }
            || tasksDo && !tasks.isEmpty
    }

    /// Stops the clock of the background tasks: what is left stays.
    mutating func stopTaskClock(at now: Instant) {
        taskTime = backgroundTimeRemaining(at: now)
        taskClock = nil
    }
}

/// A handler that was called and has not returned.
public struct PendingCallback: Record, Equatable {
    public var callback = Callback.didFinishLaunching
    public var deadline = Instant.epoch

    public init() {}

    init(_ callback: Callback, until deadline: Instant) {
        self.callback = callback
        self.deadline = deadline
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("callback", &callback)
        fields.field("deadline", &deadline)
    }
}

/// An open background task: an assertion against suspension.
public struct BackgroundTask: Record, Equatable {
    public var name: String?
    public var expirationHandler = true
    /// Whether its expiration handler was called in this run.
    public var isExpiring = false
    public var begunAt = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("begunAt", &begunAt)
        fields.field("expirationHandler", &expirationHandler)
        fields.field("isExpiring", &isExpiring)
        fields.omittable("name", &name)
    }
}

/// A wake that the app has not completed.
public struct Wake: Record, Equatable {
    public var reason = WakeReason.fetch
    public var request: String?
    /// Nil once the user has opened the app: in the foreground nothing limits it.
    public var deadline: Instant?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("deadline", &deadline)
        fields.field("reason", &reason)
        fields.omittable("request", &request)
    }
}

/// How a process ended.
public struct Termination: Record, Equatable {
    public var at = Instant.epoch
    public var code: TerminationCode?
    public var from = AppState.notRunning
    public var reason = EndReason.exit

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("at", &at)
        fields.omittable("code", &code)
        fields.field("from", &from)
        fields.field("reason", &reason)
    }
}
