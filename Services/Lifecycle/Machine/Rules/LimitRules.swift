import Contracts
import Machines
import OrderedCollections
import Timeline

/// A moment after which an app does not live on.
struct Limit {
    var at: Instant
    var reason: EndReason
}

extension InstalledApp {
    /// The limits that run, in no order.
    var limits: [Limit] {
        var limits = pendingCallbacks.map { pending in
            Limit(at: pending.deadline, reason: ending ?? pending.timeout)
        }
        for wake in wakes.values {
            guard let deadline = wake.deadline, let timeout = wake.timeout else { continue }
            limits.append(Limit(at: deadline, reason: timeout))
        }
        if !tasks.isEmpty, let taskDeadline { limits.append(Limit(at: taskDeadline, reason: .backgroundTaskTimeout)) }
        return limits
    }

    /// When the expiration orders are given; nil where none is to give.
    var expirationOrderDue: Instant? {
        guard let taskDeadline, tasks.values.contains(where: { $0.expirationHandler && !$0.isExpiring }) else {
            return nil
        }
        return taskDeadline - LifecyclePolicy.expirationNotice
    }

    var nextDeadline: Instant? {
        let wakeTimes = wakes.values.flatMap { [$0.deadline, $0.noticeDue] }.compactMap(\.self)
        let others = [expirationOrderDue, placesDue, updatesPauseDue].compactMap(\.self)
        return (limits.map(\.at) + wakeTimes + others).min()
    }
}

extension PendingCallback {
    /// What it means that the handler did not return in time.
    var timeout: EndReason { callback == .didFinishLaunching ? .launchTimeout : .didEnterBackgroundTimeout }
}

extension EndReason {
    /// The exit code that Apple gives to it.
    var code: TerminationCode? {
        switch self {
        case .forceQuit: .forceQuit
        case .launchTimeout, .didEnterBackgroundTimeout: .watchdog
        case .backgroundTaskTimeout: .backgroundTaskTimeout
        case .fetchTimeout, .pushTimeout: .backgroundFetchTimeout
        case .transferTimeout: .backgroundURLSessionTimeout
        case .thermal: .thermal
        case .fileLockHeld: .fileLock
        case .voipWithoutCall: .voipWithoutCall
        case .voipResumedTooOften: .voipResumedTooOften
        case .crash, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled, .memoryPressure, .taskRequestTimeout,
            .uiOffMainThread, .uiInBackground, .workOutsideModes:
            nil
        }
    }

    /// Whether the process died of it, by its own fault or the system's: not where somebody wanted it to end.
    var isDeath: Bool {
        switch self {
        case .forceQuit, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled: false
        case .crash, .launchTimeout, .didEnterBackgroundTimeout, .backgroundTaskTimeout, .fetchTimeout, .pushTimeout,
            .transferTimeout, .taskRequestTimeout, .memoryPressure, .thermal, .fileLockHeld, .voipWithoutCall,
            .voipResumedTooOften, .uiOffMainThread, .uiInBackground, .workOutsideModes:
            true
        }
    }
}

// Limits that were missed, and the end of processes.
extension Decision<LifecycleMachine> {
    /// What time alone brings about, for every app: a missed limit kills, whatever was done meanwhile.
    mutating func enforceLimits() {
        for (app, record) in state.apps {
            let missed = record.limits.filter { $0.at <= now }.min { $0.at < $1.at }
            if let missed {
                // An app that ends and takes too long over it: the reason stays, the watchdog did it.
                terminate(app, missed.reason, code: record.ending == nil ? nil : .watchdog)
            } else {
                ageWakes(app, record)
                settle(app)
            }
        }
        tellOfPlaces()
        pauseUpdates()
    }

    /// Notices that are due as soon as a limit begins: where less was left of the time than they come before its end.
    mutating func giveNotices() {
        for (app, record) in state.apps {
            orderExpirations(app, record)
            ageWakes(app, record)
        }
    }

    /// Ends an app that is told so, where its code can run: what reports its handlers has a moment to return, everything
    /// else is gone at once.
    mutating func end(_ app: String, _ reason: EndReason, resigning: [Callback] = []) {
        guard let record = state.apps[app] else { return }
        let callbacks = resigning + (record.state.isRunning ? [.willTerminate] : [])
        switch record.manifest.handlersReturn {
        case .reported where record.state.isRunning:
            emit(
                .appTerminating(
                    .init(app: app, callbacks: callbacks, deadline: now + profile.willTerminate, reason: reason)))
        case .reported, .immediately: terminate(app, reason, callbacks: callbacks)
        }
    }

    /// Ends an app at once. One that was told to end before ends for that reason, whatever came in between.
    mutating func terminate(
        _ app: String, _ reason: EndReason, callbacks: [Callback] = [], code: TerminationCode? = nil
    ) {
        guard let record = state.apps[app] else { return }
        // Whoever switches off or installs anew wants no process, whatever it was dying of.
        let isDeath = reason.isDeath && record.ending?.isDeath ?? true
        let reason = record.ending ?? reason
        emit(
            .appTerminated(
                .init(
                    app: app, backgroundTimeRemaining: record.backgroundTimeRemaining(at: now), callbacks: callbacks,
                    code: code ?? reason.code, from: record.state, reason: reason,
                    sinceLaunch: record.launchedAt.map { now - $0 })))
        if isDeath { reopenSocket(app) }
    }
}
