import Contracts
import Machines
import OrderedCollections
public import Records
import Timeline

// What apps are told of finished tasks, and when they are woken for it (Apple, "Downloading files in the background" and
// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`).
extension Decision<TransferMachine> {
    /// Requests the wake, or tells a delegate that can listen: one callback after the other.
    mutating func tell(_ id: String) {
        guard let session = state.sessions[id], let app = state.apps[session.app], state.isPoweredOn else { return }
        guard !state.reasonsAgainstWake(session, app).isEmpty else {
            return emit(.wakeRequested(.init(app: session.app, session: id)))
        }
        guard isListening(id), session.wake != .requested else { return }
        tellProgress(id, session)
        present(id, session)
        tellFinished(id)
    }

    /// Whether a session has a delegate that can be told something now.
    func isListening(_ id: String) -> Bool {
        guard let session = state.sessions[id], let app = state.apps[session.app] else { return false }
        return session.isAttached && app.state.isRunning && state.isPoweredOn
    }

    /// What was missed while the app was suspended: of each task the latest.
    private mutating func tellProgress(_ id: String, _ session: BackgroundSession) {
        for task in session.tasks where task.untoldBytes > 0 || task.untoldResume != nil {
            emit(
                .progressTold(
                    .init(TaskPlace(app: session.app, session: id, task: task.task)) { event in
                        event.kind = task.kind
                        event.bytes = task.untoldBytes
                        event.totalBytes = task.kind == .upload ? task.bytesSent : task.bytesReceived
                        event.totalBytesExpected = task.kind == .upload ? task.body?.length : task.bytesExpected
                        event.resumedAt = task.untoldResume
                    }))
        }
    }

    /// The finished tasks, in the order in which they finished. `didFinishDownloadingTo` must return before the next one.
    private mutating func tellFinished(_ id: String) {
        while let session = state.sessions[id], session.finishing == nil, let first = session.untold.first {
            guard let task = session[first], task.hasFileToOffer else {
                deliver(id, session)
                continue
            }
            let place = TaskPlace(app: session.app, session: id, task: first)
            emit(.downloadFinished(.init(place) { $0.until = now + policy.callbackTime }))
            if let name = task.claimedAs { returnFromCallback(place, claiming: name) }
        }
        guard let session = state.sessions[id], session.untold.isEmpty, session.finishing == nil,
            session.wake == .begun, !session.hasFinishedEvents, session.tasks.allSatisfy({ $0.challenge == nil })
        else { return }
        emit(.eventsDelivered(.init(app: session.app, session: id, tasks: [], finishesEvents: true)))
    }

    /// `didCompleteWithError` of all up to the next one that has a file to offer.
    private mutating func deliver(_ id: String, _ session: BackgroundSession) {
        let tasks = Array(session.untold.prefix { session[$0]?.hasFileToOffer != true })
        let isLast = tasks.count == session.untold.count && session.wake == .begun && !session.hasFinishedEvents
        let isAsking = session.tasks.contains { $0.challenge != nil }
        emit(
            .eventsDelivered(
                .init(app: session.app, session: id, tasks: tasks, finishesEvents: isLast && !isAsking)))
    }

    /// The app takes the file as its own: at once while it is offered, else when it will be.
    mutating func claim(_ place: TaskPlace, as name: String) throws(TransferRefusal) {
        try requireRunning(place.app)
        let task = try task(place)
        if task.fate == .claimed, task.claimedAs == name { return }
        guard task.kind == .download, task.error == nil, task.fate == .kept || task.fate == .offered else {
            throw .nothingToClaim(place.task)
        }
        let files = state.apps[place.app]?.files ?? [:]
        guard files[name] != nil || files.count < policy.filesPerApp else {
            throw .tooManyFiles(limit: policy.filesPerApp)
        }
        if task.fate == .offered { return returnFromCallback(place, claiming: name) }
        guard task.claimedAs != name else { return }
        emit(.fileReserved(.init(place) { $0.claimedAs = name }))
    }

    mutating func returnFromCallback(_ app: String, _ id: String) throws(TransferRefusal) {
        try requireRunning(app)
        guard let finishing = try session(app, id).finishing else { return }
        returnFromCallback(TaskPlace(app: app, session: id, task: finishing.task), claiming: nil)
    }

    private mutating func returnFromCallback(_ place: TaskPlace, claiming name: String?) {
        emit(.downloadReturned(.init(place) { $0.claimedAs = name }))
    }

    mutating func expireCallbacks() {
        for (id, session) in state.sessions {
            guard let finishing = session.finishing, let until = finishing.countdown.until, until <= now else {
                continue
            }
            returnFromCallback(TaskPlace(app: session.app, session: id, task: finishing.task), claiming: nil)
        }
    }

    /// The app has posted the completion handler: it is through with its callbacks.
    private mutating func returnFromAll(_ id: String) {
        while let session = state.sessions[id], let finishing = session.finishing {
            returnFromCallback(TaskPlace(app: session.app, session: id, task: finishing.task), claiming: nil)
            tellFinished(id)
        }
    }

    mutating func beginWake(_ event: LifecycleEvent.AppWoken) {
        guard event.reason == .transfer, let app = event.app, let id = event.request,
            let session = state.sessions[id], session.app == app, session.wake == .requested
        else { return }
        emit(.wakeBegun(.init(app: app, session: id, wake: event.wake, deadline: event.deadline)))
    }

    mutating func endWake(
        _ app: String?, _ request: String?, _ outcome: TransferWakeOutcome, _ refusal: WakeRefusal? = nil
    ) {
        guard let app, let id = request, let session = state.sessions[id], session.app == app, session.wake != .none
        else { return }
        if outcome == .completed, isListening(id) { returnFromAll(id) }
        emit(.wakeEnded(.init(app: app, session: id, outcome: outcome, refusal: refusal)))
    }
}

extension TransferTask {
    /// Whether `didFinishDownloadingTo` comes before `didCompleteWithError`, and has not come yet.
    fileprivate var hasFileToOffer: Bool { kind == .download && error == nil && fate == .kept }
}

/// Why an app is not woken for a session.
public enum WakeHindrance: String, Word {
    case inForeground, forceQuit, deviceOff
    /// `sessionSendsLaunchEvents` is false.
    case sendsNoLaunchEvents
    /// It was asked for already.
    case underWay
    /// Only the last task to finish wakes the app.
    case unfinishedTasks
    /// There is nothing that it was not told of, or woken for.
    case nothingNew
}

extension TransferMachine {
    /// Only the last task of a session to finish wakes its app, once, and a server that asks for credentials. A force-quit
    /// app is not woken for anything. Whether `lifecycle` then grants the wake is its own to say.
    public func reasonsAgainstWake(_ session: BackgroundSession, _ app: AppView) -> [WakeHindrance] {
        var reasons: [WakeHindrance] = []
        if !isPoweredOn { reasons.append(.deviceOff) }
        if app.state == .foreground { reasons.append(.inForeground) }
        if app.forceQuit { reasons.append(.forceQuit) }
        if !session.configuration.sessionSendsLaunchEvents { reasons.append(.sendsNoLaunchEvents) }
        if session.wake != .none { reasons.append(.underWay) }
        let asks =
            session.hasNewChallenge && !(session.isAttached && app.state.isRunning)
            && session.tasks.contains { $0.challenge != nil }
        guard !asks else { return reasons }
        if session.hasUnfinishedTasks { reasons.append(.unfinishedTasks) }
        if !session.hasNews || session.untold.isEmpty { reasons.append(.nothingNew) }
        return reasons
    }
}
