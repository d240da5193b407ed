import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Silent notifications: charged to a budget, held beyond it, and released with other traffic to the device.
extension Decision<PushMachine> {
    /// Routes a silent notification. The budget replaces batching for priority 5. Priority 1 never wakes a device.
    mutating func routeSilent(_ id: String, _ message: PushMessage, _ app: PushedApp, fromStorage: Bool = false) {
        // A foreground app needs no wake. A notification sent again has already requested one.
        if app.foreground || message.wake != .none { return deliver(id, message, fromStorage: fromStorage) }
        guard app.wakes else { return discard(id, .discardedNotWoken, refusal: .modeNotDeclared) }
        if message.priority == 1, !fromStorage, !state.isPowerFriendly { return store(id, .storedPower) }
        guard !state.conditions.lowPowerMode else { return hold(id, .heldLowPower, until: nil) }
        guard state.isThrottled else { return wake(id, message, fromStorage: fromStorage) }
        guard let available = availability(of: app), available <= now else {
            return hold(id, .heldBudget, until: availability(of: app))
        }
        charge(id, app)
        wake(id, message, fromStorage: fromStorage)
    }

    private mutating func wake(_ id: String, _ message: PushMessage, fromStorage: Bool) {
        if !message.onDevice { deliver(id, message, fromStorage: fromStorage) }
        if message.wake == .none { requestWake(id, message) }
    }

    private func availability(of app: PushedApp) -> Instant? { state.silentAvailability(of: app, at: now, policy) }

    private var today: Int { PushMachine.day(of: now) }

    private mutating func charge(_ id: String, _ app: PushedApp) {
        guard let name = state.messages[id]?.app else { return }
        let spent = state.day == today ? state.spentToday : 0
        emit(
            .budgetChanged(
                .init(
                    app: name, charged: true, day: today, fullAt: app.budget.afterSpending(at: now, policy),
                    notification: id, spentToday: spent + 1)))
    }

    /// Refunds the charge of a refused wake.
    mutating func refund(_ id: String) {
        guard let message = state.messages[id], message.charged, let app = state.apps[message.app] else { return }
        emit(
            .budgetChanged(
                .init(
                    app: message.app, charged: false, day: state.day, fullAt: app.budget.fullAt - policy.silentRefill,
                    notification: id, spentToday: max(0, state.spentToday - 1))))
    }

    /// Holds a silent notification, only the newest of each app (Apple, "Pushing background updates to your App"). By the
    /// source document all are delayed (``DisputedRule/silentNotifications``).
    mutating func hold(_ id: String, _ status: ConsoleStatus, until: Instant?) {
        guard let message = state.messages[id] else { return }
        guard !message.neverStored, message.expiresAt > now else { return discard(id, .discardedExpired) }
        let delaysAll = policy.generations[.silentNotifications] == .document
        guard delaysAll || keepsNewest(id, message, in: .held) else { return }
        emit(
            .notificationHeld(
                .init(app: message.app, notification: id, pushType: message.pushType, status: status, until: until)))
    }

    /// Discards the held notification of an app that was force-quit or killed (Apple, "Pushing background updates to
    /// your App": "If something force quits or kills the app, the system discards the held notification").
    mutating func discardHeld(of app: String, _ reason: EndReason) {
        guard reason.isKill else { return }
        for (id, message) in state.messages where message.app == app && message.stage == .held {
            discard(id, .discardedAppKilled, end: reason)
        }
    }

    /// Releases held notifications without charge, oldest first. In Low Power Mode only to foreground apps.
    mutating func release(_ status: ConsoleStatus, where goes: (PushMessage) -> Bool = { _ in true }) {
        for (id, message) in state.messages where message.stage == .held && goes(message) {
            guard let app = state.apps[message.app], app.foreground || !state.conditions.lowPowerMode else { continue }
            emit(
                .notificationReleased(
                    .init(app: message.app, notification: id, pushType: message.pushType, status: status)))
            if app.foreground, !message.onDevice {
                deliver(id, message, fromStorage: false)
            } else {
                wake(id, message, fromStorage: false)
            }
        }
    }

    /// Releases held notifications if this decision sent an ordinary notification.
    mutating func ridePiggyback() {
        let wentOut = events.contains {
            if case .notificationDelivered(let event) = $0 { !event.silent } else { false }
        }
        if wentOut { release(.releasedPiggyback) }
    }

    /// Releases the notifications that the budget allows now, and updates the deadlines of the rest.
    mutating func releaseWithinBudget() {
        guard !state.conditions.lowPowerMode else { return postpone() }
        for (id, message) in state.messages where message.stage == .held {
            guard let app = state.apps[message.app] else { continue }
            let available = state.isThrottled ? availability(of: app) : now
            if let available, available <= now {
                emit(.notificationReleased(.init(app: message.app, notification: id, pushType: message.pushType)))
                if state.isThrottled { charge(id, app) }
                wake(id, message, fromStorage: false)
            } else if message.due != available {
                hold(id, .heldBudget, until: available)
            }
        }
        flushIfAwake()
    }

    /// Sends stored notifications if this decision requests a wake, because the device is awake then.
    mutating func flushIfAwake() {
        let isAwake = events.contains {
            if case .wakeRequested = $0 { true } else { false }
        }
        if isAwake { flushStore() }
    }

    /// Removes due deadlines: in Low Power Mode the budget releases nothing.
    private mutating func postpone() {
        for (id, message) in state.messages where message.stage == .held && message.due.map({ $0 <= now }) ?? false {
            hold(id, .heldLowPower, until: nil)
        }
    }

    mutating func setThrottle(_ enabled: Bool) {
        guard state.isThrottled != enabled else { return }
        emit(.throttleChanged(.init(enabled: enabled)))
        if !enabled, state.isOnline { release(.releasedThrottleOff) }
    }
}

extension EndReason {
    /// Whether the user or the system ended the process. Our choice: an app that crashes or exits, a device that is
    /// switched off and an update do not kill the app.
    fileprivate var isKill: Bool {
        switch self {
        case .forceQuit, .launchTimeout, .didEnterBackgroundTimeout, .backgroundTaskTimeout, .fetchTimeout,
            .pushTimeout, .transferTimeout, .memoryPressure, .taskRequestTimeout, .thermal, .fileLockHeld,
            .voipWithoutCall, .voipResumedTooOften, .uiOffMainThread, .uiInBackground:
            true
        case .crash, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled: false
        }
    }
}
