public import Contracts
import OrderedCollections
import Timeline

// The time at which a task request runs. As for refreshes, the choice does not depend on the time of the decision, so it is
// stable under unchanged conditions.
extension Evaluation {
    /// Returns the best time for a task request as of `now`, without other wakes.
    func plan(for task: PendingTask, _ key: AggregateKey, now: Instant) -> TaskPlan {
        let blockers = blockers(of: task.request)
        guard blockers.isEmpty else { return TaskPlan(earliest: .epoch, blockers: blockers) }
        let grid = SlotGrid(key: key, policy: policy)
        let asked = earliest(of: task)
        var since = now
        if let wait = task.wait, let at = wait.at, let aim = wait.aim, at >= now { since = min(now, aim) }
        switch task.request.kind {
        case .refresh:
            let start = max(asked, fundedAt)
            let aim = best(
                grid, from: max(since, start), earliest: start, effectiveInterval: max(policy.floor, policy.leastPace))
            return TaskPlan(aim: aim.clamped, earliest: start.clamped)
        // Continued processing does not wait for a slot (`ContinuedTaskRules`).
        case .processing, .healthResearch, .continuedProcessing:
            let start = processingEarliest(task, from: asked)
            return TaskPlan(aim: grid.moment(grid.first(from: max(since, start))).clamped, earliest: start.clamped)
        }
    }

    /// Returns the later of submission and earliest begin date, or a later time after a refused run.
    private func earliest(of task: PendingTask) -> Instant {
        let earliest = max(task.submittedAt, task.request.earliestBeginDate ?? task.submittedAt)
        return task.refusedAt.map { max(earliest, $0 + policy.floor) } ?? earliest
    }

    /// Returns the earliest time for processing. The device must be unused for some time, unless the
    /// task needs it unlocked. Without a charger, processing
    /// waits longer, but less long for an app in use.
    private func processingEarliest(_ task: PendingTask, from earliest: Instant) -> Instant {
        let unused = task.request.requiresUnlockedDevice ? earliest : (device.lockedAt ?? earliest) + policy.idleTime
        let left = max(earliest, unused)
        guard device.conditions.battery?.charging != true else { return left }
        let begin = max(task.submittedAt, task.request.earliestBeginDate ?? task.submittedAt)
        let isUsed = app.openedAt.map { $0 + policy.usedWithin >= begin } ?? false
        return max(left, begin + (isUsed ? policy.processingPatience : policy.processingPatienceUnused))
    }

    /// Returns the factors that block a task request until they change.
    public func blockers(of request: BackgroundTaskRequest) -> [TaskFactor] {
        TaskFactor.allCases.filter { blocks($0, request) }
    }

    private func blocks(_ factor: TaskFactor, _ request: BackgroundTaskRequest) -> Bool {
        switch factor {
        case .profile: policy.profile(of: device)?.has(request.kind.feature) != true
        case .manifest: !app.permits(request)
        case .dataProtection: request.requiresUnlockedDevice && device.lockedAt != nil
        case .launchHandler: !app.hasLaunchHandler(for: request.identifier)
        case .battery: mustWait(.battery)
        case .lowPowerMode: mustWait(.lowPowerMode)
        case .appSwitcher: mustWait(.appSwitcher) && !isOutlived(request.kind)
        case .backgroundRefresh: mustWait(.backgroundRefresh)
        case .network:
            switch request.kind {
            case .refresh: mustWait(.network)
            case .processing, .healthResearch, .continuedProcessing:
                request.requiresNetworkConnectivity && mustWait(.network)
            }
        case .externalPower:
            request.kind.isProcessing && request.requiresExternalPower
                && device.conditions.battery?.charging != true
        case .deviceActivity:
            mustWait(.deviceActivity)
                || request.kind.isProcessing
                    && (request.requiresUnlockedDevice ? device.isAnyInForeground : device.isInUse)
        }
    }

    /// Whether tasks of a kind run after a force quit.
    private func isOutlived(_ kind: TaskRequestKind) -> Bool {
        switch kind {
        case .refresh, .continuedProcessing: false
        case .processing, .healthResearch: policy.profile(of: device)?.has(.processingAfterForceQuit) == true
        }
    }

    private func mustWait(_ factor: FetchFactor) -> Bool { result(factor, at: .epoch).isMustWait }

    /// Returns the refusal by which `lifecycle` would refuse a run now, by the rules of the platform; nil if it would not.
    ///
    /// It is no error of `BGTaskScheduler`: a developer starts the run in the debugger. `immediateRunIneligible` belongs to
    /// `BGContinuedProcessingTaskRequest` (Apple, `BGTaskScheduler.Error.Code.immediateRunIneligible`).
    func obstacle(to request: BackgroundTaskRequest) -> FetchRefusal? {
        if let running = app.runningTask { return .taskRunning(running.submission.identifier) }
        if !app.permits(request) { return .taskNotPermitted("the manifest no longer permits it") }
        if !app.hasLaunchHandler(for: request.identifier) { return .noLaunchHandler(request.identifier) }
        if !device.isPoweredOn { return .deviceOff }
        if app.inForeground { return .inForeground }
        if app.forceQuit, !isOutlived(request.kind) { return .forceQuit }
        return device.refreshRefusal(of: app)
    }
}

extension TaskRequestKind {
    /// The feature that the generation of the device must have.
    var feature: Feature {
        switch self {
        case .refresh, .processing: .backgroundTaskScheduler
        case .healthResearch: .healthResearchTasks
        case .continuedProcessing: .continuedProcessingTasks
        }
    }
}

/// The best time for a task request.
struct TaskPlan {
    /// The best time; nil while factors block the request.
    var aim: Instant?
    /// The earliest time of the run.
    var earliest: Instant
    var blockers: [TaskFactor] = []
}

extension Instant {
    /// The instant, limited to the last one that documents can express.
    fileprivate var clamped: Instant { min(self, Self.documented.upperBound) }
}

extension FetchMachine {
    /// Whether the device is unlocked or has an app in the foreground.
    var isInUse: Bool { lockedAt == nil || isAnyInForeground }

    /// Whether an app is in the foreground.
    var isAnyInForeground: Bool {
        let apps = known
        return apps.indices.contains { apps[$0].inForeground }
    }

    /// Whether Low Data Mode is on for the current network. It turns Background App Refresh off (Apple Support, "Use Low
    /// Data Mode on your iPhone and iPad").
    var isLowDataMode: Bool { conditions.network?.constrained == true }

    /// Returns the reason why an app has no Background App Refresh; nil if it has.
    func refreshDenial(of app: ScheduledApp) -> String? {
        settingsDenial(of: app) ?? (isLowDataMode ? "Low Data Mode is on" : nil)
    }

    /// Returns the reason in the settings why an app has no Background App Refresh; nil if there is none.
    func settingsDenial(of app: ScheduledApp) -> String? {
        if isBackgroundRefreshRestricted { return "Background App Refresh is restricted on the device" }
        if backgroundRefresh == .off { return "Background App Refresh is off for the device" }
        return app.backgroundRefresh == .off ? "Background App Refresh is off for the app" : nil
    }

    /// Returns the refusal of a wake that needs Background App Refresh; nil if it is on.
    func refreshRefusal(of app: ScheduledApp) -> FetchRefusal? {
        if isBackgroundRefreshRestricted { return .backgroundRefreshRestricted }
        if backgroundRefresh == .off || app.backgroundRefresh == .off { return .backgroundRefreshDenied }
        if conditions.lowPowerMode == true { return .lowPowerMode }
        return isLowDataMode ? .lowDataMode : nil
    }

    /// Returns the reason why the app can't schedule tasks; nil if it can.
    func unavailability(of app: ScheduledApp) -> String? {
        refreshDenial(of: app) ?? (conditions.lowPowerMode == true ? "Low Power Mode is on" : nil)
    }
}
