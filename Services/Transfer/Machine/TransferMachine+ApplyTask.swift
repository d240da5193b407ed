import Contracts
import OrderedCollections
import Timeline

// The life of a task and its attempts.
extension TransferMachine {
    mutating func apply(_ event: TransferEvent.TaskCreated) {
        var task = TransferTask(
            task: event.task, kind: event.kind, isDataTask: event.isDataTask, request: event.request, body: event.body,
            timeout: event.timeout.map { Countdown(left: $0) }, file: event.file)
        if let app = event.app, let data = event.resumeData, let left = apps[app]?.resumable.removeValue(forKey: data) {
            task.takeOver(left)
        }
        changeSession(event.app, event.session) { session in
            session.lastTask = event.task
            session.tasks.append(task)
        }
    }

    mutating func apply(_ event: TransferEvent.TaskCompleted) {
        change(event) { task in
            task.state = .completed
            task.error = event.error
            // The fields are removed now. A resumed download sends them again.
            task.request.secretHeaders = nil
            task.sha256 = event.sha256
            task.waiting = nil
            task.waitsUntil = nil
            task.retryAt = nil
            task.timeout?.until = nil
            task.challenge = nil
            task.redirect = nil
            task.delayedRequest = .none
            task.undeliveredBytes = 0
            task.undeliveredResume = nil
        }
        if let data = event.error?.resumeData, let app = event.app, let task = task(event.taskKey) {
            apps[app]?.keep(ResumableTransfer(task), as: data)
        }
        change(event) { $0.upload = nil }
        changeSession(event.app, event.session) { session in
            session.undelivered.append(event.task)
            session.hasNews = true
        }
    }

    mutating func apply(_ event: TransferEvent.AttemptScheduled) {
        change(event) { task in
            task.epoch = event.epoch
            task.attempt = Attempt(epoch: event.epoch, from: event.from, uploadDraft: event.uploadDraft)
            task.waiting = nil
            task.waitsUntil = nil
            task.retryAt = nil
            task.bytesSent = task.kind == .upload ? event.from : 0
            task.progressAt = nil
            task.currentURL = nil
            if event.from == 0 || task.kind == .upload { task.forgetBytes() }
        }
    }

    mutating func apply(_ event: TransferEvent.AttemptStarted, at time: Instant) {
        change(event) { task in
            task.attempt?.worker = event.worker
            task.attempt?.cutAt = event.cutAt
            let from = task.attempt?.from ?? 0
            let record = AttemptRecord(startedAt: time, from: from, to: from)
            task.attempts = task.attempts.suffix(Self.keptAttempts - 1) + [record]
        }
    }

    mutating func apply(_ event: TransferEvent.ResponseReceived) {
        change(event) { task in
            if event.from == 0 { task.forgetBytes() }
            if task.response == nil { task.response = event.response }
            // Empty segments would count towards the limit of segments.
            task.segments.removeAll { $0.length == 0 }
            task.segments.append(Segment(epoch: event.epoch, length: 0))
            let rest = event.response.contentLength.map { $0.heldToBytes + event.from.heldToBytes }
            task.bytesExpected = event.from > 0 ? event.response.completeLength ?? rest : rest
            // The offsets of an upload are about its body, not about the response.
            guard task.kind == .download else { return }
            task.attempt?.from = event.from
            if let last = task.attempts.indices.last { task.attempts[last].from = event.from }
            if event.from > 0, !event.isDelivered { task.undeliveredResume = event.from }
        }
    }

    mutating func apply(_ event: TransferEvent.UploadResumed) {
        change(event) { task in
            // The server has got bytes since the last resumption, so the delay between attempts begins anew.
            if event.from > task.upload?.offset ?? 0 { task.failures = 0 }
            task.upload?.offset = event.from
            task.bytesSent = event.from
            task.attempt?.from = event.from
            guard let last = task.attempts.indices.last else { return }
            (task.attempts[last].from, task.attempts[last].to) = (event.from, event.from)
        }
    }

    mutating func apply(_ event: TransferEvent.AttemptEnded) {
        change(event) { task in
            let broughtBytes = task.upload == nil && event.to > task.attempt?.from ?? 0
            if task.attempt?.worker != nil, let last = task.attempts.indices.last {
                task.attempts[last].end = event.end
                task.attempts[last].to = event.to
            }
            task.attempt = nil
            task.retryAt = event.retryAt
            if event.end == .resourceChanged {
                task.forgetBytes()
                task.upload = nil
            }
            guard event.retryAt != nil else { return }
            task.failures = broughtBytes ? 1 : task.failures + 1
            let isOfConnecting = event.end == .cannotConnect || event.end == .hostNotFound
            task.connectFailures = isOfConnecting ? task.connectFailures + 1 : 0
        }
    }
}

extension AppView {
    fileprivate mutating func keep(_ left: ResumableTransfer, as data: String) {
        resumable[data] = left
        if resumable.count > TransferMachine.keptResumeData { resumable.removeFirst() }
    }
}
