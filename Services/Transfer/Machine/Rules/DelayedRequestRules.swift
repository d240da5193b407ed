import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// `willBeginDelayedRequest` of tasks with `earliestBeginDate` (Apple,
// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`).
extension Decision<TransferMachine> {
    /// Whether the delegate must say how a task proceeds that is ready to start.
    func mustAsk(about task: TransferTask, _ configuration: SessionConfiguration) -> Bool {
        configuration.handlesDelayedRequests && task.request.earliestBeginDate != nil && task.attempts.isEmpty
            && task.delayedRequest.phase == .none
    }

    /// Presents the delayed requests of a session to its app.
    mutating func presentDelayedRequests(_ key: SessionKey, _ session: BackgroundSession) {
        for task in session.tasks where task.delayedRequest.isPending && task.delayedRequest.countdown == nil {
            emit(
                .delayedRequestPresented(
                    .init(key.task(task.task)) { event in
                        event.url = task.request.url
                        event.until = now + policy.delayedRequestTime
                    }))
        }
    }

    mutating func answerDelayedRequest(
        _ taskKey: TaskKey, _ disposition: DelayedRequestDisposition, _ new: NewRequest?
    ) throws(TransferRefusal) {
        try requireRunning(taskKey.sessionKey)
        try require(.earliestBeginDate)
        let task = try task(taskKey)
        var request: TransferRequest?
        if disposition == .useNewRequest, let new {
            guard WebOrigin(url: new.url) != nil else { throw .unsupportedURL }
            var replaced = task.request
            (replaced.url, replaced.headers, replaced.secretHeaders) = (new.url, new.headers, new.secretHeaders)
            if replaced.binary.count > task.request.binary.count { try requireRoom() }
            request = replaced
        }
        guard task.delayedRequest.isPending else { throw .noDelayedRequest(taskKey.task) }
        settle(taskKey, task, disposition, request)
    }

    mutating func expireDelayedRequests() {
        for (key, session) in state.sessions {
            for task in session.tasks {
                guard let until = task.delayedRequest.countdown?.until, until <= now else { continue }
                settle(key.task(task.task), task, .continueLoading, timedOut: true)
            }
        }
    }

    private mutating func settle(
        _ taskKey: TaskKey, _ task: TransferTask, _ disposition: DelayedRequestDisposition,
        _ request: TransferRequest? = nil, timedOut: Bool = false
    ) {
        emit(
            .delayedRequestAnswered(
                .init(taskKey) { event in
                    event.disposition = disposition
                    event.request = request
                    event.secretHeaders = request == nil ? nil : task.request.secretHeaders
                    event.timedOut = timedOut
                }))
        // Apple, the same page: the disposition has the effect of a call of `cancel()`.
        if disposition == .cancel { cancel(taskKey, .cancelled) }
    }
}

extension TransferMachine {
    mutating func apply(_ event: TransferEvent.DelayedRequestDue) {
        change(event) { $0.delayedRequest.phase = .pending }
        changeSession(event.app, event.session) { $0.hasNewQuestion = true }
    }

    mutating func apply(_ event: TransferEvent.DelayedRequestPresented) {
        change(event) { $0.delayedRequest.countdown = Countdown(until: event.until) }
        changeSession(event.app, event.session) { $0.hasNewQuestion = false }
    }

    mutating func apply(_ event: TransferEvent.DelayedRequestAnswered) {
        change(event) { task in
            task.delayedRequest = DelayedRequestState(phase: .answered)
            task.request = event.request ?? task.request
        }
    }
}
