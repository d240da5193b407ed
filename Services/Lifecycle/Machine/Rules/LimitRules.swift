import Contracts
import Machines
import OrderedCollections
import Timeline

/// A time limit that kills an app.
struct Limit {
    var at: Instant
    var reason: EndReason
}

extension InstalledApp {
    /// The running limits, unordered.
    var limits: [Limit] {
        var limits = pendingCallbacks.map { pending in
            Limit(at: pending.deadline, reason: ending ?? pending.timeout)
        }
        for wake in wakes.values {
            // On screen only a cancelled task has a deadline, which does not kill the app (our choice).
            guard let deadline = wake.deadline, let timeout = wake.timeout, !state.isForeground else { continue }
            limits.append(Limit(at: deadline, reason: timeout))
        }
        if !tasks.isEmpty, let taskDeadline { limits.append(Limit(at: taskDeadline, reason: .backgroundTaskTimeout)) }
        return limits
    }

    /// The time of the next expiration orders; nil if there are none.
    var expirationOrderDue: Instant? {
        guard let taskDeadline, tasks.values.contains(where: { $0.expirationHandler && !$0.isExpiring }) else {
            return nil
        }
        return taskDeadline - LifecyclePolicy.expirationNotice
    }

    /// Whether any of the members is in use that ``nextDeadline`` and ``healthDue`` depend on. Most apps have no deadline
    /// most of the time, and this check is cheap.
    var mayHaveDeadline: Bool {
        !pendingCallbacks.isEmpty || !wakes.isEmpty || !tasks.isEmpty || !activities.isEmpty || !health.isEmpty
            || hasPlaces
    }

    var nextDeadline: Instant? {
        let wakeTimes = wakes.values.flatMap { [$0.deadline, $0.noticeDue] }.compactMap(\.self)
        let others = [expirationOrderDue, placesDue, updatesPauseDue].compactMap(\.self)
        return (limits.map(\.at) + wakeTimes + others).min()
    }
}

extension PendingCallback {
    /// The termination reason if the handler does not return in time.
    var timeout: EndReason { callback == .didFinishLaunching ? .launchTimeout : .didEnterBackgroundTimeout }
}

extension EndReason {
    /// Apple's exit code for the reason.
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
            .uiOffMainThread, .uiInBackground:
            nil
        }
    }

    /// Whether the process died by a fault or by the system, not by an action of the user.
    var isDeath: Bool {
        switch self {
        case .forceQuit, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled: false
        case .crash, .launchTimeout, .didEnterBackgroundTimeout, .backgroundTaskTimeout, .fetchTimeout, .pushTimeout,
            .transferTimeout, .taskRequestTimeout, .memoryPressure, .thermal, .fileLockHeld, .voipWithoutCall,
            .voipResumedTooOften, .uiOffMainThread, .uiInBackground:
            true
        }
    }
}

// Missed limits, and the end of processes.
extension Decision<LifecycleMachine> {
    /// Applies the limits of all apps. A missed limit kills an app, even if the work was completed after it.
    mutating func enforceLimits() {
        for (app, record) in state.apps {
            let missed = record.limits.filter { $0.at <= now }.min { $0.at < $1.at }
            if let missed {
                // If a terminating app takes too long, the reason stays, and the code is the watchdog's.
                terminate(app, missed.reason, code: record.ending == nil ? nil : .watchdog)
            } else {
                ageWakes(app, record)
                settle(app)
            }
        }
        tellOfPlaces()
        pauseUpdates()
    }

    /// Gives notices that are due when a limit begins, because the remaining time is shorter than the notice.
    mutating func giveNotices() {
        let apps = state.known
        for (index, app) in state.apps.keys.enumerated() where !apps[index].tasks.isEmpty || !apps[index].wakes.isEmpty
        {
            orderExpirations(app, apps[index])
            ageWakes(app, apps[index])
        }
    }

    /// Ends an app after `willTerminate`, if its code can run. An app that reports its handlers gets time to return;
    /// any other ends at once.
    mutating func end(_ app: String, _ reason: EndReason, resigning: [Callback] = []) {
        guard let record = state.apps[app] else { return }
        let callbacks = resigning + (record.state.isRunning ? [.willTerminate] : [])
        switch record.manifest.handlersReturn {
        case .reported where record.state.isRunning:
            emit(
                .appTerminating(
                    .init(app: app, callbacks: callbacks, deadline: now + profile[.willTerminate], reason: reason)))
        case .reported, .immediately: terminate(app, reason, callbacks: callbacks)
        }
    }

    /// Returns Apple's exit code. A process that can't run leaves no report when the user removes it from the app switcher
    /// (secondary sources).
    private func code(of reason: EndReason, _ record: InstalledApp) -> TerminationCode? {
        reason == .forceQuit && !record.state.isRunning ? nil : reason.code
    }

    /// Ends an app at once. A terminating app keeps its earlier reason.
    mutating func terminate(
        _ app: String, _ reason: EndReason, callbacks: [Callback] = [], code: TerminationCode? = nil
    ) {
        guard let record = state.apps[app] else { return }
        // After a power-off or an update, the app must not start again, even if it was dying of a fault.
        let isDeath = reason.isDeath && record.ending?.isDeath ?? true
        let reason = record.ending ?? reason
        emit(
            .appTerminated(
                .init(
                    app: app, backgroundTimeRemaining: record.backgroundTimeRemaining(at: now), callbacks: callbacks,
                    code: code ?? self.code(of: reason, record), from: record.state,
                    leavesSwitcher: follows(.appSwitcher) ? true : nil, reason: reason,
                    sinceLaunch: record.launchedAt.map { now - $0 })))
        endTemporaryPermissions(app)
        if isDeath { reopenSocket(app) }
    }
}
