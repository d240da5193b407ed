import Contracts
import Records
import Scenarios
import Timeline

/// The execution of scheduled work.
extension SimulatedDevice {
    mutating func perform(_ work: Work, at now: Instant) -> [Action] {
        if let app = work.app { return perform(work.kind, of: app, at: now) }
        switch work.kind {
        case .report:
            let people = pace.peopleTime(at: now)
            schedule(.report, at: max(pace.real(at: person.nextChange(after: people)), now + .seconds(1)))
            return [.report(surroundings(at: people))] + move(to: person.phase(at: people))
        case .keepAlive:
            scheduleKeepAlive(after: now)
            return isOnline(at: now) ? [.keepAlive] : []
        case .pickUp: return pickUp(at: now)
        case .askForLocation, .askForNotifications: return []
        case .acknowledge(let notification): return [.acknowledge(notification: notification)]
        case .modify(let notification): return [.modify(notification: notification)]
        case .reply(let notification):
            // An action without authentication needs no unlocked device.
            return person.phase(at: pace.peopleTime(at: now)) == .asleep ? [] : [.reply(notification: notification)]
        case .open(let notification):
            return person.phase(at: pace.peopleTime(at: now)) == .asleep
                ? [] : unlock(at: now) + [.open(notification: notification)]
        case .tryOut, .putDown, .interrupt, .dismiss, .swipe, .crash, .download, .openSession, .completeCallback,
            .upload, .pauseUpload, .continueUpload, .joinChannel,
            .completeWake, .endTask, .answerChallenge, .register, .export, .reportProgress, .cancelExport:
            return []
        }
    }

    private mutating func perform(_ kind: Work.Kind, of app: Int, at now: Instant) -> [Action] {
        let name = apps[app].model.identifier
        switch kind {
        case .tryOut: return onScreen == app ? [] : open(app, at: now)
        case .register: return apps[app].pushToken == nil ? [.register(app: name)] : []
        case .askForLocation: return askForLocation(app)
        case .askForNotifications: return askForNotifications(app)
        case .putDown: return putDown(app, at: now)
        case .interrupt:
            guard onScreen == app, apps[app].state == .active else { return [] }
            schedule(.dismiss, of: app, at: now + pace.real(.seconds(20), atLeast: .milliseconds(200)))
            return [.transition(app: name, "interrupt")]
        case .dismiss:
            return onScreen == app && apps[app].state == .inactive ? [.transition(app: name, "dismiss")] : []
        case .swipe:
            return onScreen == app || apps[app].state == .notRunning ? [] : [.swipe(app: name)]
        case .crash:
            // The crash ends all work of the code.
            drop(app) { $0.isCode }
            return [.transition(app: name, "crash")]
        case .openSession: return [.openSession(app: name)]
        case .download: return [.openSession(app: name), .download(app: name)]
        case .upload: return upload(app)
        case .pauseUpload(let task): return [.pauseUpload(app: name, task: task)]
        case .continueUpload(let data): return [.continueUpload(app: name, resumeData: data)]
        case .joinChannel: return apps[app].isInChannel ? [] : [.joinChannel(app: name)]
        case .completeCallback(let callback, let session):
            return [.completeCallback(app: name, callback, session: session)]
        case .completeWake(let wake, let reason):
            guard apps[app].wakes.contains(wake) else { return [] }
            apps[app].wakes.removeAll { $0 == wake }
            return [.completeWake(app: name, wake: wake, result(of: reason, of: app))]
        case .export: return export(app, at: now)
        case .reportProgress(let wake, let part, let parts):
            guard apps[app].wakes.contains(wake) else { return [] }
            return [.reportProgress(app: name, wake: wake, part: part, of: parts)]
        case .cancelExport(let identifier): return [.cancelExport(app: name, identifier: identifier)]
        case .endTask(let task):
            apps[app].tasks.removeAll { $0 == task }
            return [.endTask(app: name, task: task)]
        case .answerChallenge(let challenge): return [.answerChallenge(app: name, challenge: challenge)]
        case .report, .pickUp, .keepAlive, .acknowledge, .modify, .open, .reply: return []
        }
    }

    /// Returns the document that completes a wake with this reason.
    private mutating func result(of reason: String, of app: Int) -> JSON {
        switch reason {
        case Self.talk: answerToTalk(of: app)
        case "fetch", "push":
            ["result": .string(random.percent(60) ? "newData" : random.percent(85) ? "noData" : "failed")]
        case "task": ["success": .bool(random.percent(90))]
        default: [:]
        }
    }

    // MARK: The user

    private mutating func pickUp(at now: Instant) -> [Action] {
        schedulePickUp(after: now)
        let phase = person.phase(at: pace.peopleTime(at: now))
        guard phase != .asleep, phase != .atWork || random.percent(60) else { return [] }
        let events = eventsBeforeUse()
        let app = chosenApp()
        return onScreen == app ? events : events + open(app, at: now)
    }

    private mutating func open(_ app: Int, at now: Instant) -> [Action] {
        var actions = unlock(at: now)
        look(at: app, at: now)
        let opening = apps[app].state == .notRunning ? "launch" : "open"
        actions.append(.transition(app: apps[app].model.identifier, opening))
        return actions
    }

    /// Brings an app to the screen and schedules the end of its use.
    mutating func look(at app: Int, at now: Instant) {
        onScreen = app
        drop(app) { $0 == .putDown || $0 == .swipe || $0 == .interrupt || $0 == .dismiss }
        let stay = pace.real(random.interval(apps[app].model.stay), atLeast: .milliseconds(400))
        schedule(.putDown, of: app, at: now + stay)
        if services.contains(.push), apps[app].model.takesPushes { wantNotifications(app, at: now) }
        wantLocation(app, at: now)
        wantExport(app, at: now, stay: stay)
        wantUpload(app, at: now, stay: stay)
        wantChannel(app, at: now)
        if random.percent(5) { schedule(.interrupt, of: app, at: now + stay / 2) }
        switch apps[app].model.behaviour {
        case .crashes where random.percent(10): schedule(.crash, of: app, at: now + stay / 3)
        case .downloadsMuch where canTransfer: schedule(.download, of: app, at: now + stay / 3)
        case .wellBehaved, .slowHandler, .neverCompletes, .leaksTasks, .crashes, .downloadsMuch: break
        }
    }

    private mutating func putDown(_ app: Int, at now: Instant) -> [Action] {
        guard onScreen == app else { return [] }
        onScreen = nil
        drop(app) { $0 == .interrupt || $0 == .dismiss }
        var actions: [Action] = []
        let name = apps[app].model.identifier
        // Clean-up that needs more than the five seconds of didEnterBackground begins a task in time.
        if apps[app].state.isRunning, apps[app].model.behaviour == .leaksTasks || random.percent(30) {
            actions.append(.beginTask(app: name, "save"))
        }
        let locks = random.percent(60)
        if !locks || random.percent(70) { actions.append(.transition(app: name, "home")) }
        if locks { actions += lock(at: now) }
        actions += considerWithdrawal(from: app)
        if random.percent(person.swipesAway) {
            schedule(.swipe, of: app, at: now + pace.real(.seconds(30), atLeast: .seconds(1)))
        }
        return actions
    }

    private mutating func unlock(at now: Instant) -> [Action] {
        guard isLocked else { return [] }
        isLocked = false
        return [.report(surroundings(at: pace.peopleTime(at: now)))]
    }

    /// Returns the conditions at a user time. A generation without Low Power Mode or Focus never has it on. Before
    /// Focus, its user has Do Not Disturb instead.
    private func surroundings(at people: Instant) -> Surroundings {
        var surroundings = person.surroundings(at: people, isLocked: isLocked)
        surroundings.isUndisturbed = surroundings.isFocused && has(.doNotDisturb)
        surroundings.isFocused = surroundings.isFocused && has(.focus)
        surroundings.isLowPowerMode = surroundings.isLowPowerMode && has(.lowPowerMode)
        return surroundings
    }

    private mutating func lock(at now: Instant) -> [Action] {
        isLocked = true
        return [.report(surroundings(at: pace.peopleTime(at: now)))]
    }

    /// Returns a random app, weighted by how often users open it.
    private mutating func chosenApp() -> Int {
        var left = random.number(0...(apps.map(\.model.opensADay).reduce(0, +) - 1))
        for (index, app) in apps.enumerated() {
            left -= app.model.opensADay
            if left < 0 { return index }
        }
        return 0
    }

    mutating func schedulePickUp(after now: Instant) {
        let opens = Int64(apps.map(\.model.opensADay).reduce(0, +))
        let wait = random.wait(mean: .minutes(16 * 60) / opens)
        schedule(.pickUp, at: now + pace.real(wait, atLeast: .milliseconds(100)))
    }

    mutating func scheduleKeepAlive(after now: Instant) {
        schedule(.keepAlive, at: now + pace.real(.minutes(Int64(random.number(10...20))), atLeast: .seconds(5)))
    }

    var canTransfer: Bool { services.contains(.transfer) && has(.backgroundSessions) }
}
