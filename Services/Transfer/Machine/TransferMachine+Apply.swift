public import Contracts
import OrderedCollections
public import Timeline

extension TransferMachine {
    public mutating func apply(_ event: TransferEvent, at time: Instant) {
        switch event {
        case .deviceUpdated(let event): apply(event)
        case .deviceRemoved: self = TransferMachine()
        case .appUpdated(let event): apply(event, at: time)
        case .appRemoved(let event):
            guard let app = event.app else { return }
            apps.removeValue(forKey: app)
        case .sessionCreated(let event):
            guard let app = event.app else { return }
            apps[app]?.sessions[event.session] = BackgroundSession(
                configuration: event.configuration, isAttached: true, process: event.process)
        case .sessionAttached(let event):
            changeSession(event.app, event.session) { session in
                session.configuration = event.configuration
                session.isAttached = true
                session.process = event.process
            }
        case .sessionDetached(let event): changeSession(event.app, event.session) { $0.detach(at: time) }
        case .sessionInvalidated(let event):
            changeSession(event.app, event.session) { $0.isInvalidated = true }
        case .sessionEnded(let event):
            guard let app = event.app else { return }
            apps[app]?.sessions.removeValue(forKey: event.session)
        case .taskCreated(let event): apply(event)
        case .taskResumed(let event):
            change(event) { task in
                task.state = .running
                task.hasStarted = true
                task.isDiscretionary = event.discretionary
                task.timeout?.until = event.deadline
                task.delayedUntil = event.delayedUntil
            }
        case .taskBecameDownload(let event): change(event) { $0.isDataTask = false }
        case .taskSuspended(let event):
            change(event) { task in
                task.state = .suspended
                task.timeout?.stop(at: time)
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
        case .informationalReceived: break
        case .redirectFollowed(let event):
            change(event) { task in
                task.currentURL = String(event.url.prefix(Self.keptURL))
                task.attempt?.redirects &+= 1
            }
        case .redirectReceived(let event): apply(event)
        case .redirectPresented(let event): apply(event)
        case .redirectAnswered(let event): apply(event)
        case .progressMade(let event):
            change(event) { task in
                guard let last = task.segments.indices.last else { return }
                let length = task.segments[last].length.heldToBytes + event.bytesWritten.heldToBytes
                task.segments[last].length = length.heldToBytes
                task.noteProgress(
                    at: time, undelivered: event.isDelivered || task.kind == .upload ? 0 : event.bytesWritten)
            }
        case .bodySent(let event):
            change(event) { task in
                task.bytesSent = event.totalBytesSent.heldToBytes
                task.noteProgress(at: time, undelivered: event.isDelivered ? 0 : event.bytesSent)
            }
        case .uploadCreated(let event): change(event) { $0.upload = UploadResource(url: event.url) }
        case .uploadResumed(let event): apply(event)
        case .progressReported(let event):
            change(event) { task in
                task.undeliveredBytes = 0
                task.undeliveredResume = nil
            }
        case .downloadFinished(let event): apply(event)
        case .downloadReturned(let event): apply(event)
        case .outageRecorded(let event):
            let length = event.until - event.from
            changeAllSessions { $0.extendLimits(by: length) }
        case .fileReserved(let event): change(event) { $0.claimedAs = event.claimedAs }
        case .fileStored(let event):
            guard let app = event.app else { return }
            apps[app]?.files[event.name] = event.file
        case .fileRemoved(let event):
            guard let app = event.app else { return }
            apps[app]?.files.removeValue(forKey: event.name)
        case .challengeReceived(let event):
            change(event) { $0.challenge = PendingChallenge(id: event.id, challenge: event.challenge) }
            changeSession(event.app, event.session) { $0.hasNewQuestion = true }
        case .challengePresented(let event):
            change(event) { $0.challenge?.countdown = Countdown(until: event.until) }
            changeSession(event.app, event.session) { $0.hasNewQuestion = false }
        case .challengeAnswered(let event): apply(event)
        case .delayedRequestDue(let event): apply(event)
        case .delayedRequestPresented(let event): apply(event)
        case .delayedRequestAnswered(let event): apply(event)
        case .eventsDelivered(let event): apply(event)
        case .wakeRequested(let event):
            changeSession(event.app, event.session) { session in
                session.wake = .requested
                session.hasNews = false
                session.hasNewQuestion = false
            }
        case .wakeBegun(let event):
            changeSession(event.app, event.session) { session in
                session.wake = .begun
                session.hasFinishedEvents = false
                session.relaunches += 1
            }
        case .wakeEnded(let event): changeSession(event.app, event.session) { $0.wake = .none }
        }
    }

    mutating func changeSession(
        _ app: String?, _ id: String, _ body: (inout BackgroundSession) -> Void
    ) {
        guard let app, let view = apps.index(forKey: app), let index = apps.values[view].sessions.index(forKey: id)
        else { return }
        body(&apps.values[view].sessions.values[index])
    }

    private mutating func changeAllSessions(_ body: (inout BackgroundSession) -> Void) {
        for (app, view) in apps {
            for id in view.sessions.keys { changeSession(app, id, body) }
        }
    }

    mutating func change(_ event: some TransferTaskEventData, _ body: (inout TransferTask) -> Void) {
        changeSession(event.app, event.session) { session in
            guard let index = session.tasks.firstIndex(where: { $0.task == event.task }) else { return }
            body(&session.tasks[index])
        }
    }

    private mutating func apply(_ event: TransferEvent.DeviceUpdated) {
        isRegistered = true
        fleet = event.fleet ?? fleet
        if let profile = event.profile { (self.profile, simulate) = (profile, event.simulate) }
        hasClient = event.hasClient ?? hasClient
        if event.poweredOn == true, !isPoweredOn {
            // Apps that could not be woken while the device was off may be woken now.
            changeAllSessions { session in
                if !session.undelivered.isEmpty { session.hasNews = true }
                if session.tasks.contains(where: \.asksDelegate) { session.hasNewQuestion = true }
            }
        }
        isPoweredOn = event.poweredOn ?? isPoweredOn
        battery = event.battery ?? battery
        isLowPowerMode = event.lowPowerMode ?? isLowPowerMode
        guard let network = event.network else { return }
        let returns = self.network.kind != network.kind && network.kind != .none
        self.network = network
        guard returns else { return }
        // A server may be reachable over another network, so failures no longer delay the next attempt.
        changeAllSessions { session in
            for index in session.tasks.indices {
                session.tasks[index].retryAt = nil
                session.tasks[index].failures = 0
                session.tasks[index].connectFailures = 0
            }
        }
    }

    private mutating func apply(_ event: TransferEvent.AppUpdated, at time: Instant) {
        guard let app = event.app else { return }
        apps[app, default: AppView()].state = event.state
        apps[app]?.forceQuit = event.forceQuit
        for id in apps[app]?.sessions.keys ?? [] { changeSession(app, id) { $0.note(event.state, at: time) } }
    }

    private mutating func apply(_ event: TransferEvent.EventsDelivered) {
        changeSession(event.app, event.session) { session in
            session.undelivered.removeAll { event.tasks.contains($0) }
            session.hasNews = false
            if event.finishesEvents { session.hasFinishedEvents = true }
            let undelivered = session.undelivered
            let delivered = session.tasks.filter { $0.state == .completed && !undelivered.contains($0.task) }.map(
                \.task)
            let dropped = delivered.dropLast(Self.keptTasks)
            session.tasks.removeAll { dropped.contains($0.task) }
        }
    }

    private mutating func apply(_ event: TransferEvent.DownloadFinished) {
        change(event) { $0.fate = .offered }
        changeSession(event.app, event.session) { session in
            session.finishing = FinishingDownload(task: event.task, countdown: Countdown(until: event.until))
            session.hasNews = false
        }
    }

    private mutating func apply(_ event: TransferEvent.DownloadReturned) {
        change(event) { task in
            task.fate = event.claimedAs == nil ? .gone : .claimed
            task.claimedAs = event.claimedAs
        }
        changeSession(event.app, event.session) { $0.finishing = nil }
        guard let app = event.app, let name = event.claimedAs, let task = task(event.taskKey) else { return }
        apps[app]?.files[name] = task.receivedFile
    }

    private mutating func apply(_ event: TransferEvent.ChallengeAnswered) {
        guard let pending = task(event.taskKey)?.challenge else { return }
        change(event) { task in
            task.challenge = nil
            guard event.disposition != .useCredential else { return }
            task.declined.removeAll { $0.challenge.isOfSameSpace(as: pending.challenge) }
            task.declined.append(DeclinedSpace(pending.challenge, event.disposition))
        }
        guard let credential = event.credential else { return }
        let held = HeldCredential(id: credential, challenge: pending.challenge)
        changeSession(event.app, event.session) { session in
            session.credentials.removeAll { $0.challenge.isOfSameSpace(as: held.challenge) }
            session.credentials.append(held)
        }
    }
}
