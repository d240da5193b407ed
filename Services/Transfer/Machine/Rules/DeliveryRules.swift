import Contracts
import Machines
import OrderedCollections
public import Records
import Timeline

// Callbacks for finished tasks, and wakes to deliver them (Apple, "Downloading files in the background" and
// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`).
extension Decision<TransferMachine> {
    /// Requests a wake, or delivers the pending callbacks one after the other if a delegate can receive them.
    mutating func tell(_ key: SessionKey) {
        guard let session = state[key], let app = state.apps[key.app], state.isPoweredOn else { return }
        guard !state.reasonsAgainstWake(session, app, policy).isEmpty else {
            return emit(.wakeRequested(.init(app: key.app, session: key.session)))
        }
        guard isListening(key), session.wake != .requested else { return }
        tellProgress(key, session)
        present(key, session)
        presentDelayedRequests(key, session)
        presentRedirects(key, session)
        tellFinished(key)
    }

    /// Whether a session has a delegate that can receive callbacks now.
    func isListening(_ key: SessionKey) -> Bool {
        guard let session = state[key], let app = state.apps[key.app] else { return false }
        return session.isAttached && (session.isOfExtension || app.state.isRunning) && state.isPoweredOn
    }

    /// Reports the latest progress of each task that the app missed while it was suspended.
    private mutating func tellProgress(_ key: SessionKey, _ session: BackgroundSession) {
        for task in session.tasks where task.undeliveredBytes > 0 || task.undeliveredResume != nil {
            emit(
                .progressReported(
                    .init(key.task(task.task)) { event in
                        event.kind = task.kind
                        event.bytes = task.undeliveredBytes
                        event.totalBytes = task.kind == .upload ? task.bytesSent : task.bytesReceived
                        event.totalBytesExpected = task.kind == .upload ? task.body?.length : task.bytesExpected
                        event.resumedAt = task.undeliveredResume
                    }))
        }
    }

    /// Reports the finished tasks in the order in which they finished. Each `didFinishDownloadingTo` must return first.
    private mutating func tellFinished(_ key: SessionKey) {
        while let session = state[key], session.finishing == nil, let first = session.undelivered.first {
            guard let task = session[first], task.hasFileToOffer else {
                deliver(key, session)
                continue
            }
            let taskKey = key.task(first)
            emit(.downloadFinished(.init(taskKey) { $0.until = now + policy.callbackTime }))
            if let name = task.claimedAs { returnFromCallback(taskKey, claiming: name) }
        }
        guard let session = state[key], session.undelivered.isEmpty, session.finishing == nil,
            session.wake == .begun, !session.hasFinishedEvents, !session.tasks.contains(where: \.asksDelegate)
        else { return }
        emit(.eventsDelivered(.init(app: key.app, finishesEvents: true, session: key.session, tasks: [])))
    }

    /// Delivers `didCompleteWithError` for all tasks before the next one with a file to offer.
    private mutating func deliver(_ key: SessionKey, _ session: BackgroundSession) {
        let tasks = Array(session.undelivered.prefix { session[$0]?.hasFileToOffer != true })
        let isLast = tasks.count == session.undelivered.count && session.wake == .begun && !session.hasFinishedEvents
        let isAsking = session.tasks.contains(where: \.asksDelegate)
        emit(
            .eventsDelivered(
                .init(app: key.app, finishesEvents: isLast && !isAsking, session: key.session, tasks: tasks)))
    }

    /// Gives the file of a download to the app: now if the file is offered, else as soon as it is offered.
    mutating func claim(_ taskKey: TaskKey, as name: String) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        let task = try task(taskKey)
        if task.fate == .claimed, task.claimedAs == name { return }
        guard task.kind == .download, !task.isDataTask, task.error == nil, task.fate == .kept || task.fate == .offered
        else {
            throw .nothingToClaim(taskKey.task)
        }
        let names = state.names(of: taskKey.app)
        guard names.contains(name) || names.count < policy.filesPerApp else {
            throw .tooManyFiles(limit: policy.filesPerApp)
        }
        if task.fate == .offered { return returnFromCallback(taskKey, claiming: name) }
        guard task.claimedAs != name else { return }
        emit(.fileReserved(.init(taskKey) { $0.claimedAs = name }))
    }

    mutating func returnFromCallback(_ key: SessionKey, _ task: Int?) throws(TransferRefusal) {
        try requireRunning(key)
        // A repeated or late return must not end the callback of the next file.
        guard let finishing = try session(key).finishing, task ?? finishing.task == finishing.task else { return }
        returnFromCallback(key.task(finishing.task), claiming: nil)
    }

    private mutating func returnFromCallback(_ taskKey: TaskKey, claiming name: String?) {
        emit(.downloadReturned(.init(taskKey) { $0.claimedAs = name }))
    }

    mutating func expireCallbacks() {
        for (key, session) in state.sessions {
            guard let finishing = session.finishing, let until = finishing.countdown.until, until <= now else {
                continue
            }
            returnFromCallback(key.task(finishing.task), claiming: nil)
        }
    }

    /// Ends all callbacks because the app has called the completion handler of the wake.
    private mutating func returnFromAll(_ key: SessionKey) {
        while let session = state[key], let finishing = session.finishing {
            returnFromCallback(key.task(finishing.task), claiming: nil)
            tellFinished(key)
        }
    }

    mutating func beginWake(_ app: String, _ event: LifecycleEvent.AppWoken) {
        guard event.reason == .transfer, let id = event.request,
            let session = state.apps[app]?.sessions[id], session.wake == .requested
        else { return }
        emit(.wakeBegun(.init(app: app, deadline: event.deadline, session: id, wake: event.wake)))
    }

    mutating func endWake(
        _ app: String, _ request: String?, _ outcome: TransferWakeOutcome, _ refusal: WakeRefusal? = nil
    ) {
        guard let id = request, let session = state.apps[app]?.sessions[id], session.wake != .none else { return }
        let key = SessionKey(app: app, session: id)
        if outcome == .completed, isListening(key) { returnFromAll(key) }
        emit(.wakeEnded(.init(app: app, outcome: outcome, refusal: refusal, session: id)))
    }
}

extension TransferTask {
    /// Whether the task still needs a `didFinishDownloadingTo`, which comes before `didCompleteWithError`.
    fileprivate var hasFileToOffer: Bool { kind == .download && !isDataTask && error == nil && fate == .kept }
}

/// The reason why an app is not woken for a session.
public enum WakeHindrance: String, WireEnum {
    case inForeground, forceQuit, deviceOff
    /// An app extension is connected to the session, and gets its callbacks.
    case inExtension
    /// `sessionSendsLaunchEvents` is false.
    case sendsNoLaunchEvents
    /// A wake was already requested or has begun.
    case underWay
    /// Only the last task to finish wakes the app. Suspended tasks do not count.
    case unfinishedTasks
    /// The app was notified of all finished tasks, or woken for them.
    case nothingNew
}

extension TransferMachine {
    /// Returns all reasons against a wake. The last task of a session to finish wakes its app once, and so does a new
    /// challenge or delayed request, and by the source document each error (``DisputedRule/transferErrors``). Nothing wakes
    /// a force-quit app. `lifecycle` decides whether it grants a requested wake.
    public func reasonsAgainstWake(
        _ session: BackgroundSession, _ app: AppView, _ policy: TransferPolicy
    ) -> [WakeHindrance] {
        var reasons: [WakeHindrance] = []
        if !isPoweredOn { reasons.append(.deviceOff) }
        if app.state == .foreground { reasons.append(.inForeground) }
        if app.forceQuit { reasons.append(.forceQuit) }
        if session.isOfExtension { reasons.append(.inExtension) }
        if !session.configuration.sessionSendsLaunchEvents { reasons.append(.sendsNoLaunchEvents) }
        if session.wake != .none { reasons.append(.underWay) }
        let asks =
            session.hasNewQuestion && !(session.isAttached && (session.isOfExtension || app.state.isRunning))
            && session.tasks.contains(where: \.asksDelegate)
        guard !asks else { return reasons }
        let isOfError =
            policy.generations[.transferErrors] == .document
            && session.undelivered.contains { session[$0]?.error != nil }
        if session.hasTasksUnderWay, !isOfError { reasons.append(.unfinishedTasks) }
        if !session.hasNews || session.undelivered.isEmpty { reasons.append(.nothingNew) }
        return reasons
    }
}
