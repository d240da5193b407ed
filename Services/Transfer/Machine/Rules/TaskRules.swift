import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Creates, suspends, resumes, cancels and expires tasks.
extension Decision<TransferMachine> {
    mutating func create(
        _ kind: TransferKind, _ key: SessionKey, _ request: TransferRequest,
        _ source: UploadSource? = nil, isDataTask: Bool = false, resumes: Bool
    ) throws(TransferRefusal) {
        let session = try sessionForNewTask(key)
        if request.earliestBeginDate != nil { try require(.earliestBeginDate) }
        guard WebOrigin(url: request.url) != nil else { throw .unsupportedURL }
        let body = try source.map { source throws(TransferRefusal) in try self.body(source, of: key.app) }
        let file = identifier()
        create(session, key, resumes: resumes) { event in
            event.kind = kind
            event.isDataTask = isDataTask
            event.request = request
            event.body = body
            event.file = file
        }
    }

    /// Creates a task that continues another one of the same kind.
    mutating func resume(
        _ kind: TransferKind, _ key: SessionKey, _ resumeData: String, _ changes: RequestChanges, resumes: Bool
    ) throws(TransferRefusal) {
        let session = try sessionForNewTask(key)
        if changes.earliestBeginDate != nil { try require(.earliestBeginDate) }
        guard let left = state.apps[key.app]?.resumable[resumeData], left.kind == kind else {
            throw .unusableResumeData(kind)
        }
        create(session, key, resumes: resumes) { event in
            event.kind = kind
            event.body = left.body
            event.request = left.request
            event.request.earliestBeginDate = changes.earliestBeginDate
            event.request.priority = changes.priority ?? left.request.priority
            event.request.secretHeaders = changes.secretHeaders
            event.file = left.file
            event.resumeData = resumeData
        }
    }

    private func sessionForNewTask(_ key: SessionKey) throws(TransferRefusal) -> BackgroundSession {
        try requireRunning(key)
        let session = try session(key)
        guard !session.isInvalidated else { throw .sessionInvalidated(key.session) }
        guard session.isAttached else { throw .sessionNotAttached(key.session) }
        // Finished tasks count until the app is notified of them.
        guard
            session.tasks.count(where: { $0.state != .completed }) + session.undelivered.count < policy.tasksPerSession
        else { throw .tooManyTasks(limit: policy.tasksPerSession) }
        try requireRoom()
        return session
    }

    private mutating func create(
        _ session: BackgroundSession, _ key: SessionKey, resumes: Bool,
        _ fill: (inout TransferEvent.TaskCreated) -> Void
    ) {
        var created = TransferEvent.TaskCreated(key.task(session.lastTask &+ 1))
        created.timeout = timeout(session.configuration)
        fill(&created)
        emit(.taskCreated(created))
        if resumes { start(created.taskKey) }
    }

    /// The time limit of a new task. By the source document the default limit does not exist
    /// (``DisputedRule/resourceTimeout``).
    private func timeout(_ configuration: SessionConfiguration) -> Interval? {
        let limit = configuration.timeoutIntervalForResource
        return follows(.resourceTimeout) && limit == SessionConfiguration().timeoutIntervalForResource ? nil : limit
    }

    /// Throws unless the state has room for something new and for the growth of its unfinished tasks.
    func requireRoom() throws(TransferRefusal) {
        let unfinished = state.sessions.reduce(0) { $0 + $1.session.tasks.count { $0.state != .completed } }
        guard state.binary.count + unfinished * policy.taskGrowth < policy.stateBytes else { throw .deviceFull }
    }

    /// Whether the state has no room for optional data.
    func isCrowded(by more: Int = 0) -> Bool { state.binary.count + more >= policy.crowdedBytes }

    private func body(_ source: UploadSource, of app: String) throws(TransferRefusal) -> AppFile {
        switch source {
        case .body(let file):
            guard hasRoom(for: file.length) else { throw .fileQuotaExceeded }
            return file
        case .file(let name):
            guard let file = state.apps[app]?.files[name] else { throw .unknownFile(name) }
            return file
        }
    }

    /// Resumes a suspended task. Does nothing in other states, as on iOS.
    mutating func resume(_ taskKey: TaskKey) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        guard try task(taskKey).state == .suspended else { return }
        start(taskKey)
    }

    /// Starts a suspended task, or lets it continue (Apple, `URLSessionTask.resume()`: new tasks are suspended).
    private mutating func start(_ taskKey: TaskKey) {
        guard let session = state[taskKey.sessionKey], let task = session[taskKey.task] else { return }
        // The user sees an app extension while its process is connected.
        let isInForeground = session.isOfExtension || state.apps[taskKey.app]?.state == .foreground
        var resumed = TransferEvent.TaskResumed(taskKey)
        resumed.deadline = task.timeout.map { now + $0.left }
        resumed.discretionary = task.isDiscretionary
        resumed.delayedUntil = task.delayedUntil
        if !task.hasStarted {
            // Apple, "isDiscretionary": tasks that start while the app is in the background are always discretionary.
            // By the source document all are (`DisputedRule.sessionTransfers`).
            resumed.discretionary =
                session.configuration.isDiscretionary || !isInForeground || follows(.sessionTransfers)
            resumed.delayedUntil = isInForeground ? nil : policy.delay(after: session.relaunches).map { now + $0 }
        }
        emit(.taskResumed(resumed))
    }

    mutating func suspend(_ taskKey: TaskKey) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        guard try task(taskKey).state == .running else { return }
        endAttempt(taskKey, .suspended)
        emit(.taskSuspended(.init(taskKey)))
    }

    mutating func cancel(_ taskKey: TaskKey, producesResumeData: Bool) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        let task = try task(taskKey)
        if producesResumeData, task.kind == .upload { try require(.resumableUploads) }
        guard task.state != .completed else { return }
        cancel(taskKey, .cancelled, producesResumeData: producesResumeData)
    }

    mutating func cancel(_ taskKey: TaskKey, _ error: TransferFailure, producesResumeData: Bool = false) {
        emit(.taskCancelled(.init(taskKey)))
        endAttempt(taskKey, .cancelled)
        complete(taskKey, error, producesResumeData: producesResumeData)
    }

    /// Cancels a task as the system does. iOS names no rule for it, so a call decides. The task can be resumed.
    mutating func cancelBySystem(_ taskKey: TaskKey, _ reason: CancellationReason) throws(TransferRefusal) {
        guard state.apps[taskKey.app] != nil else { throw .appNotInstalled(taskKey.app) }
        guard try task(taskKey).state != .completed else { return }
        cancel(taskKey, cancelled(reason), producesResumeData: true)
    }

    /// Returns the error of a task that the system cancels. Before iOS 8 it has no reason.
    func cancelled(_ reason: CancellationReason) -> TransferFailure {
        policy.generations[state.profile].has(.cancellationReasons) ? .cancelled(reason) : .cancelled
    }

    mutating func becomeDownload(_ taskKey: TaskKey) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        let task = try task(taskKey)
        guard task.isDataTask, task.state != .completed else { return }
        emit(.taskBecameDownload(.init(taskKey)))
    }

    /// Fails the data tasks of a session whose process is suspended or ends (Apple,
    /// `URLError.backgroundSessionWasDisconnected`).
    mutating func disconnectDataTasks(of key: SessionKey) {
        for task in state[key]?.tasks ?? [] where task.isDataTask && task.state != .completed {
            let taskKey = key.task(task.task)
            endAttempt(taskKey, .cancelled)
            complete(taskKey, .backgroundSessionWasDisconnected)
        }
    }

    /// Fails tasks after `timeoutIntervalForResource`, the only time limit of a background task. Suspended tasks have
    /// none (Apple, `URLSessionTask.State.suspended`).
    mutating func expireTasks() {
        for (key, session) in state.sessions {
            for task in session.tasks {
                guard task.state == .running, let deadline = task.timeout?.until, deadline <= now else { continue }
                let taskKey = key.task(task.task)
                endAttempt(taskKey, .expired)
                complete(taskKey, .timedOut, producesResumeData: true)
            }
        }
    }

    /// Completes a task. With `producesResumeData` the error has resume data if the transfer can be resumed.
    mutating func complete(
        _ taskKey: TaskKey, _ error: TransferFailure?, sha256: String? = nil, producesResumeData: Bool = false
    ) {
        guard let task = state.task(taskKey) else { return }
        var error = error
        if producesResumeData, task.canBeResumed, !isCrowded(by: ResumableTransfer(task).binary.count) {
            error?.resumeData = identifier()
        }
        emit(
            .taskCompleted(
                .init(taskKey) { event in
                    event.kind = task.kind
                    event.bytesReceived = task.bytesReceived
                    event.bytesSent = task.kind == .upload ? task.bytesSent : nil
                    event.error = error
                    event.secretHeaders = task.request.secretHeaders
                    event.sha256 = sha256
                    event.status = task.response?.status
                }))
    }

    func task(_ taskKey: TaskKey) throws(TransferRefusal) -> TransferTask {
        guard let task = try session(taskKey.sessionKey)[taskKey.task] else {
            throw .unknownTask(taskKey.task)
        }
        return task
    }
}
