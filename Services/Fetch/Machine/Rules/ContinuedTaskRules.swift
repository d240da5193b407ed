import Contracts
import Machines
import OrderedCollections
import Timeline

// Continued processing tasks: an app on screen submits them, and they start at once if the device has room. Source: Apple,
// "Performing long-running tasks on iOS and iPadOS".
extension Decision<FetchMachine> {
    /// Submits a continued processing task. It replaces a waiting one with the same identifier.
    mutating func submitContinuedTask(_ app: String, _ request: BackgroundTaskRequest) throws(FetchRefusal) {
        try require(.continuedProcessingTasks)
        let record = try running(app)
        guard record.inForeground else { throw .notInForeground }
        guard request.identifier.hasPrefix(app + ".") else {
            throw .taskNotPermitted("the identifier \(request.identifier) does not begin with \(app).")
        }
        guard let permission = record.permission(for: request.identifier) else {
            throw .taskNotPermitted("\(request.identifier) matches none of permittedTaskIdentifiers of the manifest")
        }
        guard !request.requiredResources.contains(.gpu) || record.isEntitledToBackgroundGPU else {
            throw .taskNotPermitted("the manifest lacks the entitlement \(Entitlement.backgroundGPU.rawValue)")
        }
        guard record.hasLaunchHandler(for: permission) else { throw .noLaunchHandler(permission) }
        // Low Power Mode and Low Data Mode do not matter, because the user waits for the result (our choice).
        if let reason = state.settingsDenial(of: record) { throw .taskUnavailable(reason) }
        guard record.continuedTasks[request.identifier]?.run == nil else { throw .taskRunning(request.identifier) }
        let others = record.continuedTasks.filter { $0.value.run == nil && $0.key != request.identifier }.count
        let limit = FetchPolicy.pendingLimit(request.kind)
        guard others < limit else { throw .tooManyPendingTaskRequests(request.kind, limit: limit) }
        if request.strategy == .fail, let reason = state.continuedTaskObstacle {
            throw .immediateRunIneligible(reason)
        }
        emit(.taskSubmitted(.init(app: app, request: request)))
    }

    /// Cancels a task for the user: it leaves the queue, or its expiration handler is called.
    mutating func cancelContinuedTask(_ app: String, _ identifier: String) throws(FetchRefusal) {
        try require(.continuedProcessingTasks)
        guard let task = try installed(app).continuedTasks[identifier] else { throw .taskNotRunning(identifier) }
        guard let run = task.run else { return emit(.taskCancelled(.init(app: app, identifier: identifier))) }
        stopContinuedTask(app, identifier, run, .userCancelled)
    }

    mutating func stopContinuedTask(
        _ app: String, _ identifier: String, _ run: ContinuedTask.Run, _ cause: TaskStopCause
    ) {
        guard run.stopped == nil else { return }
        emit(.taskStopped(.init(app: app, cause: cause, identifier: identifier, request: run.request)))
    }

    /// Starts the tasks of the queue for which the device has room, the oldest first.
    mutating func startContinuedTasks() {
        while let (app, task) = state.nextQueuedTask, state.continuedTaskObstacle == nil {
            emit(
                .taskDue(
                    .init(
                        answerBy: now + policy.answerLimit, app: app,
                        expirationHandler: task.request.expirationHandler, identifier: task.request.identifier,
                        kind: task.request.kind, request: identifier())))
        }
    }

    /// Gives up the tasks for which `lifecycle` has not answered in time.
    mutating func giveUpContinuedTasks() {
        for (name, app) in state.apps {
            for (identifier, task) in app.continuedTasks {
                guard let answerBy = task.run?.answerBy, answerBy <= now else { continue }
                recordContinuedTask(name, identifier, .refused, refusal: "unanswered")
            }
        }
    }

    /// Ends the tasks of a process that has ended. The queue ends with it, because its launch handlers are gone (our choice).
    mutating func endContinuedTasks(_ app: String, _ result: TaskResult) {
        for (identifier, task) in state.apps[app]?.continuedTasks ?? [:] {
            if task.run == nil {
                emit(.taskCancelled(.init(app: app, identifier: identifier)))
            } else if task.run?.startedAt != nil {
                recordContinuedTask(app, identifier, result)
            }
        }
    }

    /// Ends the run of a task.
    mutating func recordContinuedTask(
        _ app: String, _ identifier: String, _ result: TaskResult, refusal: String? = nil, bytesReceived: Int? = nil
    ) {
        guard let run = state.apps[app]?.continuedTasks[identifier]?.run else { return }
        emit(
            .taskRecorded(
                .init(
                    app: app, bytesReceived: bytesReceived, completedAt: now, dueAt: run.dueAt,
                    elapsedSeconds: run.startedAt.map { now - $0 }, identifier: identifier, kind: .continuedProcessing,
                    refusal: refusal, request: run.request, result: result, startedAt: run.startedAt)))
    }

    /// Returns the run of a continued processing task that a wake belongs to.
    func continuedRun(
        _ app: String, _ reason: WakeReason, _ request: String?
    ) -> (identifier: String, run: ContinuedTask.Run)? {
        guard reason == .task, let request else { return nil }
        for (identifier, task) in state.apps[app]?.continuedTasks ?? [:] where task.run?.request == request {
            return task.run.map { (identifier, $0) }
        }
        return nil
    }
}

extension FetchMachine {
    /// The reason why no continued processing task can start now; nil if one can.
    var continuedTaskObstacle: String? {
        let running = apps.values.reduce(0) { count, app in count + app.continuedTasks.values.count { $0.run != nil } }
        if running >= FetchPolicy.continuedTasksPerDevice {
            return "the device already runs \(running) continued processing tasks"
        }
        switch conditions.thermal ?? .nominal {
        case .nominal, .fair: return nil
        case .serious, .critical: return "the device is too hot"
        }
    }

    /// The oldest task in the queue, with its app.
    fileprivate var nextQueuedTask: (app: String, task: ContinuedTask)? {
        var oldest: (app: String, task: ContinuedTask)?
        let known = known
        for (index, name) in apps.keys.enumerated() where !known[index].continuedTasks.isEmpty {
            guard let task = known[index].continuedTasks.values.first(where: { $0.run == nil }) else { continue }
            if oldest.map({ task.submittedAt < $0.task.submittedAt }) ?? true { oldest = (name, task) }
        }
        return oldest
    }
}
