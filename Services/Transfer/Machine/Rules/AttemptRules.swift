import Contracts
import Machines
import Timeline

// Reports of transfer workers. Only the worker that claimed the latest attempt may report.
extension Decision<TransferMachine> {
    /// - Parameter cutAt: the byte at which a modelled server cuts the connection.
    mutating func start(_ claim: AttemptClaim, cutAt: Int? = nil) throws(TransferRefusal) {
        let task = try task(claim.taskKey)
        guard let attempt = task.attempt, attempt.epoch == claim.epoch, attempt.worker ?? claim.worker == claim.worker
        else { throw .staleAttempt }
        // The worker repeats its claim if it did not get the answer.
        guard attempt.worker == nil else { return }
        emit(
            .attemptStarted(
                .init(claim.taskKey) { event in
                    event.cutAt = cutAt
                    event.epoch = claim.epoch
                    event.worker = claim.worker
                }))
    }

    mutating func receive(_ claim: AttemptClaim, _ head: ResponseHead) throws(TransferRefusal) {
        let task = try claimed(claim)
        let held = task.bytesReceived
        // An unrequested part is neither the whole file nor a continuation.
        guard held > 0 || head.status != 206 else { return retry(claim.taskKey, .resourceChanged) }
        let from: Int
        switch ResumeRule.decide(head, held: held, known: task.response) {
        case .resume: from = held
        case .restart: from = 0
        case .contradiction: return endAttempt(claim.taskKey, .resourceChanged)
        }
        // A restart frees the bytes that the task has.
        guard hasRoom(for: (head.contentLength ?? 0).heldToBytes - (from == 0 ? held : 0)) else {
            return give(up: claim.taskKey, .cannotWrite, .cannotWriteToFile)
        }
        let isDelivered = isListening(claim.taskKey.sessionKey)
        let isCrowded = isCrowded()
        emit(
            .responseReceived(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.isDelivered = isDelivered
                    event.response = isCrowded ? head.withoutTexts : head
                    event.from = from
                    event.restarts = from < held || from == 0 && task.hasBegunBefore && task.upload == nil
                }))
    }

    /// Tells the delegate of an informational response. An app without code that runs does not learn of it later (our
    /// choice).
    mutating func receive(
        _ claim: AttemptClaim, informational response: InformationalResponse
    ) throws(TransferRefusal) {
        _ = try claimed(claim)
        guard policy.generations[state.profile].has(.informationalResponses), isListening(claim.taskKey.sessionKey)
        else { return }
        emit(
            .informationalReceived(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.response = response
                }))
    }

    /// Notes received bytes. Ends the task if its device has no room for them.
    ///
    /// - Returns: whether the attempt continues.
    @discardableResult
    mutating func report(_ claim: AttemptClaim, total: Int) throws(TransferRefusal) -> Bool {
        let task = try claimed(claim)
        let written = total - task.bytesReceived
        guard written > 0 else { return true }
        guard task.segments.last?.epoch == claim.epoch else { throw .staleAttempt }
        guard hasRoom(for: written) else {
            give(up: claim.taskKey, .cannotWrite, .cannotWriteToFile)
            return false
        }
        // The delegate of an upload gets progress of the sent bytes, not of the response.
        let isDelivered = task.kind == .download && isListening(claim.taskKey.sessionKey)
        emit(
            .progressMade(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.isDelivered = isDelivered
                    event.bytesWritten = written
                    event.totalBytesWritten = total
                    event.totalBytesExpectedToWrite = task.bytesExpected
                }))
        return true
    }

    mutating func reportSent(_ claim: AttemptClaim, total: Int) throws(TransferRefusal) {
        let task = try claimed(claim)
        guard let length = task.body?.length, min(total, length) > task.bytesSent else { return }
        let total = min(total, length)
        let isDelivered = isListening(claim.taskKey.sessionKey)
        emit(
            .bodySent(
                .init(claim.taskKey) { event in
                    event.epoch = claim.epoch
                    event.bytesSent = total - task.bytesSent
                    event.totalBytesSent = total
                    event.totalBytesExpectedToSend = length
                    event.isDelivered = isDelivered
                }))
    }

    mutating func finish(_ claim: AttemptClaim, total: Int, sha256: String) throws(TransferRefusal) {
        guard try report(claim, total: total) else { return }
        if let expected = try claimed(claim).bytesExpected, total != expected {
            return retry(claim.taskKey, .connectionLost)
        }
        endAttempt(claim.taskKey, .finished)
        complete(claim.taskKey, nil, sha256: sha256)
    }

    mutating func fail(_ claim: AttemptClaim, total: Int, _ end: AttemptEnd) throws(TransferRefusal) {
        // The worker repeats the report if it did not get the answer. Only after an answer it removes the files.
        let last = try task(claim.taskKey)
        if end == .cannotWrite, last.epoch == claim.epoch, last.error?.code == TransferFailure.cannotWriteToFile.code {
            return
        }
        // A worker that cannot write does not know the total. Bytes that it has reported remain.
        guard try report(claim, total: max(total, try claimed(claim).bytesReceived)) else { return }
        let task = try claimed(claim)
        let isHopeless =
            task.bytesReceived == 0 && task.upload == nil && task.connectFailures + 1 >= policy.connectTries
        switch end {
        case .cannotConnect where isHopeless: give(up: claim.taskKey, end, .cannotConnectToHost)
        case .hostNotFound where isHopeless: give(up: claim.taskKey, end, .cannotFindHost)
        case .connectionLost, .timedOut, .cannotConnect, .hostNotFound, .uploadNotReady: retry(claim.taskKey, end)
        case .tooManyRedirects: give(up: claim.taskKey, end, .httpTooManyRedirects)
        case .authenticationRequired: give(up: claim.taskKey, end, .userAuthenticationRequired)
        case .serverUntrusted: give(up: claim.taskKey, end, .serverCertificateUntrusted)
        case .secureConnectionFailed: give(up: claim.taskKey, end, .secureConnectionFailed)
        case .digestMismatch: give(up: claim.taskKey, end, .digestMismatch)
        case .fileMissing: give(up: claim.taskKey, end, .fileDoesNotExist)
        case .originNotAllowed: give(up: claim.taskKey, end, .cannotConnectToHost)
        case .cannotWrite: give(up: claim.taskKey, end, .cannotWriteToFile)
        case .resourceChanged: endAttempt(claim.taskKey, .resourceChanged)
        // Only the machine uses these reasons. From a worker they mean that it stopped.
        case .finished, .conditionsLost, .suspended, .cancelled, .expired, .redirected, .workerLost:
            endAttempt(claim.taskKey, .workerLost)
        }
    }

    mutating func takeOver(_ claim: AttemptClaim) throws(TransferRefusal) {
        _ = try claimed(claim)
        endAttempt(claim.taskKey, .workerLost)
    }

    /// Ends the attempt in progress, if any.
    mutating func endAttempt(_ taskKey: TaskKey, _ end: AttemptEnd, retryAt: Instant? = nil) {
        guard let task = state.task(taskKey), let attempt = task.attempt else { return }
        emit(
            .attemptEnded(
                .init(taskKey) { event in
                    event.epoch = attempt.epoch
                    event.end = end
                    event.to = end == .resourceChanged ? 0 : task.upload == nil ? task.bytesReceived : task.bytesSent
                    event.retryAt = retryAt
                }))
    }

    private mutating func give(up taskKey: TaskKey, _ end: AttemptEnd, _ error: TransferFailure) {
        endAttempt(taskKey, end)
        complete(taskKey, error)
    }

    /// Schedules a retry with exponential back-off. Each consecutive attempt without a byte doubles the delay.
    private mutating func retry(_ taskKey: TaskKey, _ end: AttemptEnd) {
        guard let task = state.task(taskKey) else { return }
        let failures = task.bytesReceived > task.attempt?.from ?? 0 ? 1 : task.failures + 1
        let doublings = min(failures - 1, 20)
        let pause = min(policy.longestRetry, policy.firstRetry * (1 << Int64(doublings)))
        let spread = 2 * policy.jitterPercent + 1
        let percent = Int64(100 - policy.jitterPercent + randomNumber() % spread)
        endAttempt(taskKey, end, retryAt: now + pause * percent / 100)
    }

    /// Returns the task if the claim is for its latest attempt and from the worker of that attempt.
    func claimed(_ claim: AttemptClaim) throws(TransferRefusal) -> TransferTask {
        let task = try task(claim.taskKey)
        guard let attempt = task.attempt, attempt.epoch == claim.epoch, attempt.worker == claim.worker else {
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
