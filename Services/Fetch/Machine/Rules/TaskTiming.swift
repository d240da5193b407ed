public import Contracts
import OrderedCollections
import Timeline

// When a task request runs. As with refreshes the choice depends on the state and on moments in it, not on when it is made: time
// that passes under unchanged conditions changes nothing.
extension Judgement {
    /// What would be best for a task request of the app as of `now`, whatever other wakes there are.
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
            let aim = best(grid, from: max(since, start), earliest: start, pace: max(policy.floor, policy.leastPace))
            return TaskPlan(aim: aim.clamped, earliest: start.clamped)
        case .processing:
            let start = processingEarliest(task, from: asked)
            return TaskPlan(aim: grid.moment(grid.first(from: max(since, start))).clamped, earliest: start.clamped)
        }
    }

    /// The submission or the date that it names, whichever is later; a while after a refused run.
    private func earliest(of task: PendingTask) -> Instant {
        let earliest = max(task.submittedAt, task.request.earliestBeginDate ?? task.submittedAt)
        return task.refusedAt.map { max(earliest, $0 + policy.floor) } ?? earliest
    }

    /// Processing waits until the device was left alone for a while, and then, while it does not charge, for a charger: not as
    /// long for an app that the user cares for.
    private func processingEarliest(_ task: PendingTask, from earliest: Instant) -> Instant {
        let left = max(earliest, (device.lockedAt ?? earliest) + policy.idleTime)
        guard device.conditions.battery?.charging != true else { return left }
        let begin = max(task.submittedAt, task.request.earliestBeginDate ?? task.submittedAt)
        let isUsed = app.openedAt.map { $0 + policy.usedWithin >= begin } ?? false
        return max(left, begin + (isUsed ? policy.processingPatience : policy.processingPatienceUnused))
    }

    /// The factors that make a task request wait until they change.
    public func blockers(of request: BackgroundTaskRequest) -> [TaskFactor] {
        TaskFactor.allCases.filter { blocks($0, request) }
    }

    private func blocks(_ factor: TaskFactor, _ request: BackgroundTaskRequest) -> Bool {
        switch factor {
        case .profile: device.profile?.hasTaskRequests != true
        case .manifest: !app.permits(request)
        case .battery: mustWait(.battery)
        case .lowPowerMode: mustWait(.lowPowerMode)
        case .appSwitcher: mustWait(.appSwitcher) && !isOutlived(request.kind)
        case .backgroundRefresh: mustWait(.backgroundRefresh)
        case .network:
            switch request.kind {
            case .refresh: mustWait(.network)
            case .processing: request.requiresNetworkConnectivity && mustWait(.network)
            }
        case .externalPower:
            request.kind == .processing && request.requiresExternalPower
                && device.conditions.battery?.charging != true
        case .deviceActivity:
            mustWait(.deviceActivity) || request.kind == .processing && device.isInUse
        }
    }

    /// Whether a force quit does not end such tasks.
    private func isOutlived(_ kind: TaskRequestKind) -> Bool {
        switch kind {
        case .refresh: false
        case .processing: device.profile?.processingOutlivesForceQuit == true
        }
    }

    private func mustWait(_ factor: FetchFactor) -> Bool { verdict(factor, at: .epoch).isMustWait }

    /// What `lifecycle` would refuse a run for at this moment: the rules of the platform, in words. Nil where nothing does.
    func obstacle(to request: BackgroundTaskRequest) -> String? {
        if let running = app.runningTask { return "the task \(running.submission.identifier) of the app is running" }
        if !app.permits(request) { return "the manifest does not permit it any more" }
        if !device.isPoweredOn { return "the device is switched off" }
        if app.inForeground { return "the app is on screen" }
        if app.forceQuit, !isOutlived(request.kind) { return "the user ended the app in the switcher" }
        return device.unavailability(of: app)
    }
}

/// What would be best for a task request.
struct TaskPlan {
    /// The best moment; nil while factors block it.
    var aim: Instant?
    /// Never before this.
    var earliest: Instant
    var blockers: [TaskFactor] = []
}

extension Instant {
    /// A date may be so far off that what comes after it can't be told in documents.
    fileprivate var clamped: Instant { min(self, Self.documented.upperBound) }
}

extension FetchMachine {
    /// Whether somebody uses the device, or has not locked it.
    var isInUse: Bool { lockedAt == nil || isAnyInForeground }

    /// Whether an app is on screen.
    var isAnyInForeground: Bool {
        let apps = known
        return apps.indices.contains { apps[$0].inForeground }
    }

    /// Why the app can schedule nothing; nil where it can.
    func unavailability(of app: ScheduledApp) -> String? {
        if isBackgroundRefreshRestricted { return "Background App Refresh is restricted on the device" }
        if backgroundRefresh == .off { return "Background App Refresh is off for the device" }
        if app.backgroundRefresh == .off { return "Background App Refresh is off for the app" }
        return conditions.lowPowerMode == true ? "Low Power Mode is on" : nil
    }
}
