import Contracts
import Machines
import OrderedCollections
import Timeline

// Wakes that notifications request, and the answers of `lifecycle`.
extension Decision<PushMachine> {
    mutating func requestWake(_ id: String, _ message: PushMessage) {
        emit(
            .wakeRequested(
                .init(app: message.app, notification: id, payload: message.payload, pushType: message.pushType)))
    }

    mutating func grant(_ id: String, wake: String) {
        guard let message = state.messages[id], message.wake == .requested else { return }
        emit(
            .wakeGranted(
                .init(
                    app: message.app, arrived: message.silent, notification: id, pushType: message.pushType, wake: wake)
            ))
    }

    /// Completes a wake. An alert that waits for the handler is shown. An app that leaves its Push to Talk channel loses
    /// the token of the channel.
    mutating func complete(_ id: String, _ event: LifecycleEvent.WakeCompleted) {
        guard let message = state.messages[id], message.wake == .granted else { return }
        emit(
            .wakeCompleted(
                .init(app: message.app, notification: id, pushType: message.pushType, result: event.result)))
        present(id, message, .completed)
        guard event.pushResult == .leaveChannel, message.kind == .pushtotalk else { return }
        acknowledge(id)
        if let token = state.apps[message.app]?.token(of: .pushtotalk) { retire(message.app, token, .channelLeft) }
    }

    /// Handles a refused wake. An alert is shown anyway, unless its app is in the foreground. A silent notification is
    /// acknowledged if its app is in the foreground, held if the cause is temporary, and discarded otherwise. A push for
    /// the app alone is discarded too.
    mutating func refuse(_ id: String, _ refusal: WakeRefusal) {
        guard let message = state.messages[id], message.wake == .requested else { return }
        refund(id)
        emit(
            .wakeRefused(
                .init(
                    app: message.app, arrived: refusal == .inForeground && arrivesInstead(message), notification: id,
                    pushType: message.pushType, refusal: refusal)))
        guard refusal != .inForeground else { return message.silent ? acknowledge(id) : () }
        if message.isForApp {
            discard(id, .discardedNotWoken, refusal: refusal)
        } else if !message.silent {
            presentIfPermitted(id, message, .refused)
        } else if policy.temporaryRefusals.contains(refusal) {
            // An event reports the end of Low Power Mode. The other causes end without an event.
            let isDelivered = refusal == .lowPowerMode
            hold(id, isDelivered ? .heldLowPower : .heldRefused, until: isDelivered ? nil : now + policy.refusalRetry)
        } else {
            discard(id, .discardedNotWoken, refusal: refusal)
        }
    }

    /// Whether the app that came on screen gets a notification instead of its wake.
    private func arrivesInstead(_ message: PushMessage) -> Bool {
        message.silent
            || message.isForUser && !message.isPresented && message.summaryAt == nil
                && profile.has(.userNotificationCenter)
    }

    /// Ends the wakes of a terminated app.
    mutating func endWakes(of app: String) {
        for (id, message) in state.messages where message.app == app && message.wake == .granted {
            emit(.wakeEnded(.init(app: app, notification: id, pushType: message.pushType)))
            present(id, message, .ended)
        }
    }

    /// Stops waiting for a wake. An alert is shown without it.
    mutating func abandonWake(_ id: String, _ message: PushMessage) {
        emit(
            .wakeEnded(
                .init(app: message.app, notification: id, pushType: message.pushType, status: .wakeNotAwaited)))
        present(id, message, .notAwaited)
    }

    /// Whether an app has as many wakes in progress as its alerts may request. Alerts have no silent budget, so a provider
    /// could else open a wake with each alert.
    func hasManyWakes(_ app: String) -> Bool {
        state.messages.values.count { $0.app == app && $0.wake != .none } >= policy.openWakes
    }

    /// Whether an alert waits for the handler of its app.
    var waitsForHandler: Bool { profile.has(.alertWaitsForHandler) }

    /// Shows an alert, once. The device shows nothing of pushes for apps and the system, no alert whose service
    /// extension runs, and no alert before its summary.
    mutating func present(_ id: String, _ message: PushMessage, _ cause: PresentationCause) {
        guard message.needsPermission, !message.isPresented, isPermitted(message) else { return }
        guard state.messages[id]?.serviceExtension != .running else { return }
        let isInTime = cause == .summary || cause == .notAwaited
        guard isInTime || state.messages[id]?.summaryAt == nil else { return }
        emit(
            .notificationPresented(
                .init(app: message.app, cause: cause, notification: id, pushType: message.pushType)))
    }
}
