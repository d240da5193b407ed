import Contracts
import Machines
import Timeline

// Reports of transfer workers. Only the worker that claimed the latest attempt may report.
extension Decision<TransferMachine> {
    mutating func start(_ claim: AttemptClaim) throws(TransferRefusal) {
        let task = try task(claim.place)
        guard let attempt = task.attempt, attempt.epoch == claim.epoch, attempt.mover ?? claim.mover == claim.mover
        else { throw .staleAttempt }
        // The worker repeats its claim if it did not get the answer.
        guard attempt.mover == nil else { return }
        emit(
            .attemptStarted(
                .init(claim.place) { event in
                    event.epoch = claim.epoch
                    event.mover = claim.mover
                }))
    }

    mutating func receive(_ claim: AttemptClaim, _ head: ResponseHead) throws(TransferRefusal) {
        let task = try claimed(claim)
        let held = task.bytesReceived
        // An unrequested part is neither the whole file nor a continuation.
        guard held > 0 || head.status != 206 else { return retry(claim.place, .resourceChanged) }
        let from: Int
        switch ResumeRule.decide(head, held: held, known: task.response) {
        case .resume: from = held
        case .restart: from = 0
        case .contradiction: return endAttempt(claim.place, .resourceChanged)
        }
        let isTold = isListening(claim.place.session)
        let isCrowded = isCrowded()
        emit(
            .responseReceived(
                .init(claim.place) { event in
                    event.epoch = claim.epoch
                    event.isTold = isTold
                    event.response = isCrowded ? head.withoutTexts : head
                    event.from = from
                    event.restarts = from < held || from == 0 && task.hasBegunBefore
                }))
    }

    mutating func report(_ claim: AttemptClaim, total: Int) throws(TransferRefusal) {
        let task = try claimed(claim)
        let written = total - task.bytesReceived
        guard written > 0 else { return }
        guard task.segments.last?.epoch == claim.epoch else { throw .staleAttempt }
        // The delegate of an upload gets progress of the sent bytes, not of the response.
        let isTold = task.kind == .download && isListening(claim.place.session)
        emit(
            .progressMade(
                .init(claim.place) { event in
                    event.epoch = claim.epoch
                    event.isTold = isTold
                    event.bytesWritten = written
                    event.totalBytesWritten = total
                    event.totalBytesExpectedToWrite = task.bytesExpected
                }))
    }

    mutating func reportSent(_ claim: AttemptClaim, total: Int) throws(TransferRefusal) {
        let task = try claimed(claim)
        guard let length = task.body?.length, min(total, length) > task.bytesSent else { return }
        let total = min(total, length)
        let isTold = isListening(claim.place.session)
        emit(
            .bodySent(
                .init(claim.place) { event in
                    event.epoch = claim.epoch
                    event.bytesSent = total - task.bytesSent
                    event.totalBytesSent = total
                    event.totalBytesExpectedToSend = length
                    event.isTold = isTold
                }))
    }

    mutating func follow(_ claim: AttemptClaim, _ redirect: Redirect) throws(TransferRefusal) {
        _ = try claimed(claim)
        emit(
            .redirectFollowed(
                .init(claim.place) { event in
                    event.epoch = claim.epoch
                    event.status = redirect.status
                    event.method = redirect.method
                    event.url = redirect.url
                    event.crossesOrigins = redirect.crossesOrigins
                }))
    }

    mutating func finish(_ claim: AttemptClaim, total: Int, sha256: String) throws(TransferRefusal) {
        try report(claim, total: total)
        if let expected = try claimed(claim).bytesExpected, total != expected {
            return retry(claim.place, .connectionLost)
        }
        endAttempt(claim.place, .finished)
        complete(claim.place, nil, sha256: sha256)
    }

    mutating func fail(_ claim: AttemptClaim, total: Int, _ end: AttemptEnd) throws(TransferRefusal) {
        // A worker that cannot write does not know the total. Bytes that it has reported remain.
        try report(claim, total: max(total, try claimed(claim).bytesReceived))
        let task = try claimed(claim)
        let isHopeless = task.bytesReceived == 0 && task.connectFailures + 1 >= policy.connectTries
        switch end {
        case .cannotConnect where isHopeless: give(up: claim.place, end, .cannotConnectToHost)
        case .hostNotFound where isHopeless: give(up: claim.place, end, .cannotFindHost)
        case .connectionLost, .timedOut, .cannotConnect, .hostNotFound: retry(claim.place, end)
        case .tooManyRedirects: give(up: claim.place, end, .httpTooManyRedirects)
        case .authenticationRequired: give(up: claim.place, end, .userAuthenticationRequired)
        case .serverUntrusted: give(up: claim.place, end, .serverCertificateUntrusted)
        case .secureConnectionFailed: give(up: claim.place, end, .secureConnectionFailed)
        case .digestMismatch: give(up: claim.place, end, .digestMismatch)
        case .fileMissing: give(up: claim.place, end, .fileDoesNotExist)
        case .originNotAllowed: give(up: claim.place, end, .cannotConnectToHost)
        case .cannotWrite: give(up: claim.place, end, .cannotWriteToFile)
        case .resourceChanged: endAttempt(claim.place, .resourceChanged)
        // Only the machine uses these reasons. From a worker they mean that it stopped.
        case .finished, .conditionsLost, .suspended, .cancelled, .expired, .moverLost:
            endAttempt(claim.place, .moverLost)
        }
    }

    mutating func takeOver(_ claim: AttemptClaim) throws(TransferRefusal) {
        _ = try claimed(claim)
        endAttempt(claim.place, .moverLost)
    }

    /// Ends the attempt in progress, if any.
    mutating func endAttempt(_ place: TaskPlace, _ end: AttemptEnd, retryAt: Instant? = nil) {
        guard let task = state.task(place), let attempt = task.attempt else { return }
        emit(
            .attemptEnded(
                .init(place) { event in
                    event.epoch = attempt.epoch
                    event.end = end
                    event.to = end == .resourceChanged ? 0 : task.bytesReceived
                    event.retryAt = retryAt
                }))
    }

    private mutating func give(up place: TaskPlace, _ end: AttemptEnd, _ error: TransferFailure) {
        endAttempt(place, end)
        complete(place, error)
    }

    /// Schedules a retry with exponential back-off. Each consecutive attempt without a byte doubles the delay.
    private mutating func retry(_ place: TaskPlace, _ end: AttemptEnd) {
        guard let task = state.task(place) else { return }
        let failures = task.bytesReceived > task.attempt?.from ?? 0 ? 1 : task.failures + 1
        let doublings = min(failures - 1, 20)
        let pause = min(policy.longestRetry, policy.firstRetry * (1 << Int64(doublings)))
        let spread = 2 * policy.jitterPercent + 1
        let percent = Int64(100 - policy.jitterPercent + randomNumber() % spread)
        endAttempt(place, end, retryAt: now + pause * percent / 100)
    }

    /// Returns the task if the claim is for its latest attempt and from the worker of that attempt.
    func claimed(_ claim: AttemptClaim) throws(TransferRefusal) -> TransferTask {
        let task = try task(claim.place)
        guard let attempt = task.attempt, attempt.epoch == claim.epoch, attempt.mover == claim.mover else {
            throw .staleAttempt
        }
        return task
    }
}

extension TransferTask {
    /// Whether one of the stored attempts has received bytes or continued from some.
    fileprivate var hasBegunBefore: Bool { attempts.contains { max($0.from, $0.to) > 0 } }
}

extension ResponseHead {
    /// The head without the texts that only a resumed download needs.
    fileprivate var withoutTexts: ResponseHead {
        var head = self
        (head.etag, head.lastModified, head.contentType) = (nil, nil, nil)
        return head
    }
}
