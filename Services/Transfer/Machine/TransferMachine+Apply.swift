public import Contracts
import OrderedCollections
public import Timeline

extension TransferMachine {
    public mutating func apply(_ event: TransferEvent, at time: Instant) {
        switch event {
        case .deviceNoted(let event): apply(event)
        case .deviceForgotten: self = TransferMachine()
        case .appNoted(let event): apply(event)
        case .appForgotten(let event):
            guard let app = event.app else { return }
            apps.removeValue(forKey: app)
            sessions.removeAll { $0.value.app == app }
        case .sessionCreated(let event):
            var session = BackgroundSession()
            session.app = event.app ?? ""
            session.configuration = event.configuration
            session.isAttached = true
            sessions[event.session] = session
        case .sessionAttached(let event):
            sessions[event.session]?.configuration = event.configuration
            sessions[event.session]?.isAttached = true
        case .sessionInvalidated(let event):
            sessions[event.session]?.isInvalidated = true
            removeIfDone(event.session)
        case .taskCreated(let event): apply(event)
        case .taskResumed(let event): change(event) { $0.state = .running }
        case .taskSuspended(let event):
            change(event) { task in
                task.state = .suspended
                task.waiting = nil
                task.waitsUntil = nil
            }
        case .taskCancelled(let event): change(event) { $0.state = .canceling }
        case .taskHeld(let event):
            change(event) { task in
                task.waiting = event.waiting
                task.waitsUntil = event.until
            }
        case .taskCompleted(let event): apply(event)
        case .attemptScheduled(let event): apply(event)
        case .attemptStarted(let event): apply(event, at: time)
        case .attemptEnded(let event): apply(event)
        case .responseReceived(let event): apply(event)
        case .progressMade(let event):
            change(event) { task in
                guard let last = task.segments.indices.last else { return }
                task.segments[last].length += event.bytesWritten
            }
        case .eventsDelivered(let event): apply(event)
        case .wakeRequested(let event):
            sessions[event.session]?.wake = .requested
            sessions[event.session]?.hasNews = false
        case .wakeBegun(let event): sessions[event.session]?.wake = .begun
        case .wakeEnded(let event): sessions[event.session]?.wake = .none
        }
    }

    private mutating func change(_ event: some TransferTaskEventData, _ body: (inout TransferTask) -> Void) {
        guard var session = sessions[event.session],
            let index = session.tasks.firstIndex(where: { $0.task == event.task })
        else { return }
        body(&session.tasks[index])
        sessions[event.session] = session
    }

    private mutating func apply(_ event: TransferEvent.DeviceNoted) {
        isRegistered = true
        fleet = event.fleet ?? fleet
        if event.poweredOn == true, !isPoweredOn {
            // Who could not be woken while it was off may be now.
            for id in sessions.keys where sessions[id]?.untold.isEmpty == false { sessions[id]?.hasNews = true }
        }
        isPoweredOn = event.poweredOn ?? isPoweredOn
        battery = event.battery ?? battery
        isLowPowerMode = event.lowPowerMode ?? isLowPowerMode
        guard let network = event.network else { return }
        let returns = self.network.kind != network.kind && network.kind != .none
        self.network = network
        guard returns else { return }
        // Over another network a server may be reachable at once: nothing is held against it any more.
        for id in sessions.keys {
            for index in sessions[id]?.tasks.indices ?? 0..<0 {
                sessions[id]?.tasks[index].retryAt = nil
                sessions[id]?.tasks[index].failures = 0
            }
        }
    }

    private mutating func apply(_ event: TransferEvent.AppNoted) {
        guard let app = event.app else { return }
        apps[app, default: AppView()].state = event.state
        apps[app]?.forceQuit = event.forceQuit
        guard event.state == .notRunning else { return }
        for id in sessions.keys where sessions[id]?.app == app { sessions[id]?.isAttached = false }
    }

    private mutating func apply(_ event: TransferEvent.TaskCreated) {
        var task = TransferTask()
        task.task = event.task
        task.kind = event.kind
        task.request = event.request
        task.isDiscretionary = event.discretionary
        task.deadline = event.deadline
        task.file = event.file
        sessions[event.session]?.lastTask = event.task
        sessions[event.session]?.tasks.append(task)
    }

    private mutating func apply(_ event: TransferEvent.TaskCompleted) {
        change(event) { task in
            task.state = .completed
            task.error = event.error
            task.sha256 = event.sha256
            task.waiting = nil
            task.waitsUntil = nil
            task.retryAt = nil
        }
        sessions[event.session]?.untold.append(event.task)
        sessions[event.session]?.hasNews = true
    }

    private mutating func apply(_ event: TransferEvent.AttemptScheduled) {
        change(event) { task in
            task.epoch = event.epoch
            var attempt = Attempt()
            attempt.epoch = event.epoch
            attempt.from = event.from
            task.attempt = attempt
            task.waiting = nil
            task.waitsUntil = nil
            task.retryAt = nil
            if event.from == 0 { task.forgetBytes() }
        }
    }

    private mutating func apply(_ event: TransferEvent.AttemptStarted, at time: Instant) {
        change(event) { task in
            task.attempt?.mover = event.mover
            var record = AttemptRecord()
            record.startedAt = time
            record.from = task.attempt?.from ?? 0
            record.to = record.from
            task.attempts = task.attempts.suffix(Self.keptAttempts - 1) + [record]
        }
    }

    private mutating func apply(_ event: TransferEvent.ResponseReceived) {
        change(event) { task in
            if event.from == 0 { task.forgetBytes() }
            if task.response == nil { task.response = event.response }
            task.attempt?.from = event.from
            task.segments.append(Segment(epoch: event.epoch, length: 0))
            let rest = event.response.contentLength.map { $0 + event.from }
            task.bytesExpected = event.from > 0 ? event.response.completeLength ?? rest : rest
            if let last = task.attempts.indices.last { task.attempts[last].from = event.from }
        }
    }

    private mutating func apply(_ event: TransferEvent.AttemptEnded) {
        change(event) { task in
            let broughtBytes = event.to > task.attempt?.from ?? 0
            if task.attempt?.mover != nil, let last = task.attempts.indices.last {
                task.attempts[last].end = event.end
                task.attempts[last].to = event.to
            }
            task.attempt = nil
            task.retryAt = event.retryAt
            if event.end == .resourceChanged { task.forgetBytes() }
            guard event.retryAt != nil else { return }
            task.failures = broughtBytes ? 1 : task.failures + 1
        }
    }

    private mutating func apply(_ event: TransferEvent.EventsDelivered) {
        guard var session = sessions[event.session] else { return }
        session.untold.removeAll { event.tasks.contains($0) }
        session.hasNews = false
        let told = session.tasks.filter { $0.state == .completed && !session.untold.contains($0.task) }.map(\.task)
        let dropped = told.dropLast(Self.keptTasks)
        session.tasks.removeAll { dropped.contains($0.task) }
        sessions[event.session] = session
        removeIfDone(event.session)
    }

    /// An invalidated session goes with the last thing that was to be told of it.
    private mutating func removeIfDone(_ id: String) {
        guard let session = sessions[id], session.isInvalidated else { return }
        if !session.hasUnfinishedTasks && session.untold.isEmpty { sessions.removeValue(forKey: id) }
    }
}

extension TransferTask {
    fileprivate mutating func forgetBytes() {
        segments = []
        response = nil
        bytesExpected = nil
    }
}
