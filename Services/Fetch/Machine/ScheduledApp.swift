public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// The machine's view of an installed app.
public struct ScheduledApp: Record, Equatable {
    /// Whether its manifest declares the mode `fetch`. Without it an interval has no effect.
    public var declaresFetch = false
    /// Whether its manifest declares the mode `processing`.
    public var declaresProcessing = false
    /// Whether it has the entitlement to use the GPU in the background.
    public var isEntitledToBackgroundGPU = false
    /// Whether it has the entitlement for health research tasks.
    public var isEntitledToHealthResearch = false
    /// `BGTaskSchedulerPermittedIdentifiers`.
    public var permittedTaskIdentifiers: [String] = []
    /// The permitted identifiers without a launch handler.
    public var missingLaunchHandlers: [String] = []
    /// The switch of Background App Refresh for this app.
    public var backgroundRefresh = Switch.on
    /// Whether the user force-quit it and has not opened it since.
    public var forceQuit = false
    /// Its state in `lifecycle`.
    public var state = AppPresence.notRunning
    /// The time of the last opening.
    public var openedAt: Instant?
    /// The requested interval.
    public var interval = FetchInterval.never
    /// The time at which the interval was set.
    public var intervalSetAt: Instant?
    /// The end of the last refresh that began.
    public var endedAt: Instant?
    /// The time of the last refused refresh. The next try is not at once.
    public var refusedAt: Instant?
    /// The end of the last refresh or wake with new data.
    public var newDataAt: Instant?
    /// The refresh in progress.
    public var running: RunningFetch?
    /// The wait for the next refresh; nil while none is wanted or one is in progress.
    public var wait: Wait?
    /// The learned usage.
    public var usage = UsageProfile()
    /// The reliability of its refreshes.
    public var reliability = ReliabilityScore()
    /// The energy and data that its refreshes have spent today.
    public var budgetUsage = BudgetUsage()
    /// The age of the content at openings.
    public var contentAges = ContentAges()
    /// The pending task requests by identifier, in order of submission.
    public var tasks: OrderedDictionary<String, PendingTask> = [:]
    /// The run of a task request, from its due time to its end, at most one for each app.
    public var runningTask: RunningTask?
    /// The continued processing tasks by identifier, in order of submission, in the queue or running.
    public var continuedTasks: OrderedDictionary<String, ContinuedTask> = [:]

    /// Whether it is in the foreground.
    public var inForeground: Bool { state == .foreground }

    /// Whether intervals have an effect. From iOS 13, permitted task identifiers in the manifest disable background fetch
    /// (Apple, "Using background tasks to update your app").
    public func fetches(on profile: Profile?) -> Bool {
        guard declaresFetch, let profile, profile.has(.backgroundFetch) else { return false }
        return !profile.has(.backgroundTaskScheduler) || permittedTaskIdentifiers.isEmpty
    }

    /// Whether a task request is pending or runs.
    var hasTasks: Bool { !tasks.isEmpty || runningTask != nil }

    /// The next deadline of the app.
    var nextDeadline: Instant? {
        let refresh = running?.answerBy ?? wait?.at
        return [refresh, nextTaskDeadline, nextContinuedTaskDeadline].compactMap(\.self).min()
    }
}

/// The wait for an app's next refresh.
public struct Wait: Record, Equatable {
    /// The best time without other wakes; nil if that is the reserved time.
    public var aim: Instant?
    /// The reserved time; nil while factors block the refresh.
    public var at: Instant?
    /// The factors that block the refresh.
    public var blockers: [FetchFactor] = []
    /// The limit of wakes per second under which the time is reserved; nil if there is none.
    public var ceiling: Int?
    /// The time at which interval and floor have passed.
    public var earliest = Instant.epoch
    /// The time at which the budgets allow the refresh; nil if they do at `earliest`.
    public var fundedAt: Instant?

    /// The best time without other wakes; nil while factors block the refresh.
    var best: Instant? { aim ?? at }
}

/// A refresh in progress.
public struct RunningFetch: Record, Equatable {
    /// The time at which it is given up.
    public var answerBy = Instant.epoch
    public var dueAt = Instant.epoch
    /// The identifier of the refresh.
    public var fetch = ""
    /// Whether a tester started it.
    public var simulated = false
    /// The time of the wake; nil until then.
    public var startedAt: Instant?
    /// The identifier of the wake.
    public var wake: String?
}

extension FetchMachine {
    /// The apps in their order, for access to single fields by index. A loop over the apps would copy each large value.
    var known: [ScheduledApp] { apps.values.elements }
}
