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
            Limit(
                at: pending.deadline,
                reason: pending.callback == .didFinishLaunching ? .launchTimeout : .didEnterBackgroundTimeout)
        }
        for wake in wakes.values {
            if let deadline = wake.deadline { limits.append(Limit(at: deadline, reason: wake.reason.timeout)) }
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
        let ends = limits.map(\.at).min()
        guard let expirationOrderDue else { return ends }
        return min(expirationOrderDue, ends ?? expirationOrderDue)
    }
}

extension WakeReason {
    /// What it means to miss the limit of such a wake.
    fileprivate var timeout: EndReason {
        switch self {
        case .fetch: .fetchTimeout
        }
    }
}

extension EndReason {
    /// The exit code that Apple gives to it.
    var code: TerminationCode? {
        switch self {
        case .forceQuit: .forceQuit
        case .launchTimeout, .didEnterBackgroundTimeout: .watchdog
        case .backgroundTaskTimeout: .backgroundTaskTimeout
        case .fetchTimeout: .backgroundFetchTimeout
        case .crash, .exit, .exitedOnSuspend, .powerOff, .updated: nil
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
                terminate(app, missed.reason)
            } else {
                orderExpirations(app, record)
            }
        }
    }

    mutating func terminate(_ app: String, _ reason: EndReason, callbacks: [Callback] = []) {
        guard let record = state.apps[app] else { return }
        emit(
            .appTerminated(
                .init(
                    app: app, backgroundTimeRemaining: record.backgroundTimeRemaining(at: now), callbacks: callbacks,
                    code: reason.code, from: record.state, reason: reason,
                    sinceLaunch: record.launchedAt.map { now - $0 })))
    }
}
