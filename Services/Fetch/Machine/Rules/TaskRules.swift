import Contracts
import Machines
import OrderedCollections
import Timeline

// Submits, cancels, starts, stops and gives up task requests.
extension Decision<FetchMachine> {
    /// `BGTaskScheduler.submit(_:)`: replaces a pending request with the same identifier.
    mutating func submitTask(_ app: String, _ request: BackgroundTaskRequest) throws(FetchRefusal) {
        guard request.kind != .continuedProcessing else { return try submitContinuedTask(app, request) }
        try require(request.kind.feature)
        let record = try running(app)
        guard record.declares(request.kind) else {
            let mode: BackgroundMode = request.kind.isProcessing ? .processing : .fetch
            throw .taskNotPermitted("the manifest does not declare the mode \"\(mode.rawValue)\"")
        }
        guard record.isEntitled(to: request.kind) else {
            let entitlement = Entitlement.backgroundHealthResearch.rawValue
            throw .taskNotPermitted("the manifest lacks the entitlement \(entitlement)")
        }
        guard record.permits(request) else {
            throw .taskNotPermitted("\(request.identifier) is not in permittedTaskIdentifiers of the manifest")
        }
        guard record.hasLaunchHandler(for: request.identifier) else { throw .noLaunchHandler(request.identifier) }
        if let reason = state.unavailability(of: record) { throw .taskUnavailable(reason) }
        let others = record.tasks.values.count {
            $0.request.kind.isProcessing == request.kind.isProcessing && $0.request.identifier != request.identifier
        }
        let limit = FetchPolicy.pendingLimit(request.kind)
        guard others < limit else { throw .tooManyPendingTaskRequests(request.kind, limit: limit) }
        emit(.taskSubmitted(.init(app: app, request: request)))
    }

    /// `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`: does nothing if the request is not pending.
    mutating func cancelTask(_ app: String, _ identifier: String) throws(FetchRefusal) {
        let record = try running(app)
        guard record.tasks[identifier] != nil || record.isQueued(identifier) else { return }
        emit(.taskCancelled(.init(app: app, identifier: identifier)))
    }

    mutating func cancelAllTasks(_ app: String) throws(FetchRefusal) {
        let record = try running(app)
        for identifier in record.tasks.keys.union(record.continuedTasks.keys.filter(record.isQueued)) {
            emit(.taskCancelled(.init(app: app, identifier: identifier)))
        }
    }

    /// Starts a pending request without its date, slot or conditions. It refuses at once what `lifecycle` would refuse.
    mutating func simulateTaskLaunch(_ app: String, _ identifier: String) throws(FetchRefusal) {
        let record = try schedulable(app)
        guard let task = record.tasks[identifier] else { throw .taskNotPending(identifier) }
        try require(task.request.kind.feature)
        if let obstacle = evaluation(record).obstacle(to: task.request) { throw obstacle }
        due(app, task, simulated: true)
    }

    mutating func simulateTaskExpiration(_ app: String, _ identifier: String) throws(FetchRefusal) {
        let record = try schedulable(app)
        if let run = record.continuedTasks[identifier]?.run {
            return stopContinuedTask(app, identifier, run, .simulated)
        }
        guard let running = record.runningTask, running.submission.identifier == identifier else {
            throw .taskNotRunning(identifier)
        }
        if running.stopped == nil { stop(app, running, .simulated) }
    }

    private func schedulable(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        try require(.backgroundTaskScheduler)
        return try installed(app)
    }

    /// Starts the runs whose time has come and gives up unanswered ones.
    mutating func enforceTaskDeadlines() {
        for (index, name) in state.apps.keys.enumerated() where state.known[index].hasTasks {
            let app = state.known[index]
            if let running = app.runningTask {
                guard running.answerBy <= now else { continue }
                recordTask(name, running.startedAt == nil ? .refused : .timedOut, refusal: "unanswered")
            } else if let task = app.tasks.values.first(where: { $0.wait?.at.map { $0 <= now } ?? false }) {
                due(name, task, simulated: false)
            }
        }
    }

    /// Plans the run of each request. If the best time has not changed, its reservation stays and no event follows.
    mutating func scheduleTasks(_ names: [String]) {
        for name in names {
            guard let index = state.apps.index(forKey: name), state.known[index].hasTasks else { continue }
            let app = state.known[index]
            guard app.runningTask == nil else { continue }
            let evaluation = evaluation(app)
            for (identifier, task) in app.tasks {
                let plan = evaluation.plan(for: task, key, now: now)
                if let wait = task.wait, wait.best == plan.aim, wait.blockers == plan.blockers,
                    plan.aim == nil || wait.earliest == plan.earliest
                {
                    continue
                }
                var event = FetchEvent.TaskScheduled()
                event.app = name
                event.identifier = identifier
                event.blockers = plan.blockers
                if let aim = plan.aim {
                    let start = max(now, plan.earliest)
                    let held = task.wait?.best == aim ? task.wait?.at.flatMap { $0 >= start ? $0 : nil } : nil
                    let at = held ?? place(aim, from: start, of: name, task: identifier)
                    event.at = at
                    event.ceiling = held == nil ? slots.ceiling : task.wait?.ceiling
                    event.aim = at == aim ? nil : aim
                    event.earliest = plan.earliest
                }
                emit(.taskScheduled(event))
            }
        }
    }

    /// Stops processing when a new factor blocks it: the user has returned, or a condition has ended.
    mutating func stopTasks(since before: FetchMachine) {
        let apps = state.known
        for (index, name) in state.apps.keys.enumerated() where apps[index].runningTask != nil {
            let app = apps[index]
            guard let running = app.runningTask, running.submission.kind.isProcessing, running.stopped == nil,
                let former = before.apps[name], former.runningTask?.request == running.request
            else { continue }
            let stood = Evaluation(device: before, app: former, policy: policy).blockers(of: running.submission)
            let stand = evaluation(app).blockers(of: running.submission)
            guard stand.contains(where: { !stood.contains($0) }) else { continue }
            // A research task may run on an unlocked device, so the user can also return by opening an app.
            let hasReturned =
                state.isInUse && !before.isInUse || state.isAnyInForeground && !before.isAnyInForeground
            stop(name, running, hasReturned ? .userReturned : .conditionEnded)
        }
    }

    private mutating func stop(_ app: String, _ running: RunningTask, _ cause: TaskStopCause) {
        emit(
            .taskStopped(
                .init(app: app, cause: cause, identifier: running.submission.identifier, request: running.request)))
    }

    private mutating func due(_ app: String, _ task: PendingTask, simulated: Bool) {
        emit(
            .taskDue(
                .init(
                    answerBy: now + policy.answerLimit, app: app, expirationHandler: task.request.expirationHandler,
                    identifier: task.request.identifier, kind: task.request.kind, request: identifier(),
                    simulated: simulated)))
    }

    /// Ends the run of a task.
    mutating func recordTask(
        _ app: String, _ result: TaskResult, refusal: String? = nil, bytesReceived: Int? = nil
    ) {
        guard let running = state.apps[app]?.runningTask else { return }
        let task = running.submission
        let elapsed = running.startedAt.map { now - $0 }
        let spent = task.kind == .refresh ? elapsed.map { charge($0, bytesReceived) } : nil
        emit(
            .taskRecorded(
                .init(
                    app: app, bytesReceived: bytesReceived, completedAt: now, day: spent?.day, dueAt: running.dueAt,
                    elapsedSeconds: elapsed, identifier: task.identifier, kind: task.kind,
                    millijoules: spent?.millijoules ?? 0, refusal: result == .refused ? refusal : nil,
                    request: running.request, result: result, simulated: running.simulated,
                    startedAt: running.startedAt)))
    }
}
