public import Contracts
import Machines
import OrderedCollections
import Timeline

// Built-in devices: the machine itself answers the orders, at deadlines. A client that opens the device's stream of orders
// takes the device over, and gives it back with the end of the stream.
extension LifecycleMachine {
    /// The behaviour of the built-in device; nil for any other device, and while a client answers for it.
    public var builtIn: BuiltInDevice? {
        guard client == nil, let device = registration?.simulate, device.answersItself else { return nil }
        return device
    }

    /// Returns the time at which a handler that is called now returns; nil unless the machine answers for the device.
    func answerDue(calledAt time: Instant) -> Instant? { builtIn.map { time + $0.answers.after } }

    /// The time of the next answer; nil if there is none.
    var nextAnswer: Instant? {
        guard builtIn != nil else { return nil }
        return apps.values.compactMap(\.nextAnswer).min()
    }

    mutating func apply(_ event: LifecycleEvent.DeviceUpdated, at time: Instant) {
        let former = registration?.simulate
        registration = event.registration
        if event.registration.simulate != former { resetAnswers(at: time) }
    }

    mutating func changeClient(to client: String?, at time: Instant) {
        self.client = client
        resetAnswers(at: time)
    }

    /// The person on a built-in device uses an app for a while after opening its notification.
    mutating func apply(_ event: LifecycleEvent.NotificationResponded, at time: Instant) {
        guard builtIn?.opens == .atOnce, let app = event.app, apps[app]?.state.isForeground == true else { return }
        apps[app]?.usedUntil = time + BuiltInDevice.usage
    }

    /// Sets the times of the open answers anew, because the machine begins or stops to answer for the device.
    private mutating func resetAnswers(at time: Instant) {
        let due = answerDue(calledAt: time)
        for app in apps.keys {
            apps[app]?.forgetAnswers()
            if let due { apps[app]?.scheduleAnswers(at: due) }
        }
    }
}

extension InstalledApp {
    /// The time of the next answer, or of the end of the person's usage; nil if there is none.
    fileprivate var nextAnswer: Instant? {
        (pendingCallbacks.map(\.answerDue) + wakes.values.map(\.answerDue) + [state.isForeground ? usedUntil : nil])
            .compactMap(\.self).min()
    }

    /// Sets the time of the answers to orders that have none yet.
    mutating func scheduleAnswers(at due: Instant) {
        for index in pendingCallbacks.indices where pendingCallbacks[index].answerDue == nil {
            pendingCallbacks[index].answerDue = due
        }
        for (id, wake) in wakes where wake.answerDue == nil { wakes[id]?.answerDue = due }
    }

    fileprivate mutating func forgetAnswers() {
        for index in pendingCallbacks.indices { pendingCallbacks[index].answerDue = nil }
        for id in wakes.keys { wakes[id]?.answerDue = nil }
    }
}

extension Decision<LifecycleMachine> {
    /// A client opened a stream of orders: it answers for a built-in device from now on, in place of any former client.
    mutating func takeOver(_ client: String) {
        guard state.registration?.simulate?.answersItself == true, state.client != client else { return }
        emit(.deviceTakenOver(.init(client: client)))
    }

    /// The stream of a client ended. Does nothing if another client has taken the device over.
    mutating func giveBack(_ client: String) {
        guard state.client == client else { return }
        emit(.deviceGivenBack(.init(client: client)))
    }

    /// Gives the answers that are due.
    mutating func answerAsDevice() {
        guard let answers = state.builtIn?.answers else { return }
        for (app, record) in state.apps {
            for pending in record.pendingCallbacks where pending.isAnswerDue(at: now) {
                answerCallback(pending.callback, of: app)
            }
            for (id, wake) in record.wakes where wake.isAnswerDue(at: now) {
                answerWake(id, of: app, isExpired: false, answers)
            }
            if state.apps[app]?.state.isForeground == true, record.usedUntil.map({ $0 <= now }) ?? false {
                enterBackground(app, .home)
            }
        }
    }

    /// Ends the tasks and wakes whose expiration handler was called. The handler returns at once.
    ///
    /// - Returns: whether there were any.
    mutating func answerExpirations() -> Bool {
        guard let answers = state.builtIn?.answers else { return false }
        var hasAnswered = false
        for (app, record) in state.apps {
            for (task, open) in record.tasks where open.isExpiring && isOpen(task: task, of: app) {
                hasAnswered = true
                do throws(LifecycleRefusal) { try endTask(app, task) } catch { return hasAnswered }
            }
            for (id, wake) in record.wakes where wake.isExpiring {
                hasAnswered = true
                answerWake(id, of: app, isExpired: true, answers)
            }
        }
        return hasAnswered
    }

    private func isOpen(task: String, of app: String) -> Bool {
        state.apps[app].map { $0.state.isRunning && $0.tasks[task] != nil } ?? false
    }

    private mutating func answerCallback(_ callback: Callback, of app: String) {
        guard let record = state.apps[app], record.state.isRunning,
            record.pendingCallbacks.contains(where: { $0.callback == callback })
        else { return }
        // The guard has checked what a completion without a snapshot needs.
        do throws(LifecycleRefusal) { try completeCallback(app, callback, CallbackCompletion()) } catch { return }
    }

    private mutating func answerWake(_ id: String, of app: String, isExpired: Bool, _ answers: BuiltInAnswers) {
        guard let record = state.apps[app], record.state.isRunning, let wake = record.wakes[id] else { return }
        let isInCall = record.activities[ActivityKind.voip.rawValue] != nil
        var completion = WakeCompletion()
        completion.result = isExpired ? .failed : answers.result
        completion.success = !isExpired && answers.result != .failed
        completion.pushResult = .activeRemoteParticipant
        // A call that nobody answers: the app reports it, and it ends with the wake.
        if wake.awaitsCall { emit(.activityStarted(.init(activity: .voip, app: app, request: ActivityRequest()))) }
        do throws(LifecycleRefusal) {
            try completeWake(app, id, completion)
            if wake.awaitsCall, !isInCall, state.apps[app]?.state.isRunning == true { try stopActivity(app, .voip) }
        } catch { return }
    }
}

extension PendingCallback {
    fileprivate func isAnswerDue(at now: Instant) -> Bool { answerDue.map { $0 <= now } ?? false }
}

extension Wake {
    fileprivate func isAnswerDue(at now: Instant) -> Bool { answerDue.map { $0 <= now } ?? false }
}
