import Contracts
import Machines
import OrderedCollections
import Timeline

// Redirects. Background sessions follow them without the delegate (Apple,
// `urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)`). By the source document the delegate
// decides (``DisputedRule/redirects``).
extension Decision<TransferMachine> {
    mutating func follow(_ claim: AttemptClaim, _ redirect: Redirect) throws(TransferRefusal) {
        let task = try claimed(claim)
        let isAllowed = task.attempt?.redirects ?? 0 < task.allowedRedirects
        guard !follows(.redirects) || isAllowed || isCrowded(by: redirect.url.utf8.count) else {
            return ask(about: redirect, claim.taskKey)
        }
        emit(
            .redirectFollowed(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.status = redirect.status
                    event.method = redirect.method
                    event.url = redirect.url
                    event.crossesOrigins = redirect.crossesOrigins
                }))
    }

    /// Ends the attempt. The next one begins when the delegate has answered.
    private mutating func ask(about redirect: Redirect, _ taskKey: TaskKey) {
        endAttempt(taskKey, .redirected)
        emit(
            .redirectReceived(
                .init(taskKey) { event in
                    event.method = redirect.method
                    event.status = redirect.status
                    event.url = redirect.url
                }))
    }

    /// Presents the new redirects of a session to its app.
    mutating func presentRedirects(_ key: SessionKey, _ session: BackgroundSession) {
        for task in session.tasks {
            guard let pending = task.redirect, pending.countdown == nil else { continue }
            emit(
                .redirectPresented(
                    .init(key.task(task.task)) { event in
                        event.method = pending.method
                        event.status = pending.status
                        event.until = now + policy.redirectTime
                        event.url = pending.url
                    }))
        }
    }

    mutating func answerRedirect(_ taskKey: TaskKey, _ disposition: RedirectDisposition) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        guard try task(taskKey).redirect != nil else { throw .noRedirect(taskKey.task) }
        emit(.redirectAnswered(.init(taskKey) { $0.disposition = disposition }))
    }

    /// Follows redirects for which the app has run for too long without an answer.
    mutating func expireRedirects() {
        for (key, session) in state.sessions {
            for task in session.tasks {
                guard let until = task.redirect?.countdown?.until, until <= now else { continue }
                emit(
                    .redirectAnswered(
                        .init(key.task(task.task)) { event in
                            event.disposition = .follow
                            event.timedOut = true
                        }))
            }
        }
    }
}

extension TransferMachine {
    mutating func apply(_ event: TransferEvent.RedirectReceived) {
        change(event) { $0.redirect = PendingRedirect(status: event.status, method: event.method, url: event.url) }
        changeSession(event.app, event.session) { $0.hasNewQuestion = true }
    }

    mutating func apply(_ event: TransferEvent.RedirectPresented) {
        change(event) { $0.redirect?.countdown = Countdown(until: event.until) }
        changeSession(event.app, event.session) { $0.hasNewQuestion = false }
    }

    mutating func apply(_ event: TransferEvent.RedirectAnswered) {
        change(event) { task in
            task.redirect = nil
            switch event.disposition {
            case .follow: task.allowedRedirects &+= 1
            case .refuse: task.refusesRedirect = true
            }
        }
    }
}
