import Contracts
import Machines
import OrderedCollections
import Timeline

// What `lifecycle` answers to the wakes that notifications asked for.
extension Decision<PushMachine> {
    mutating func requestWake(_ id: String, _ message: PushMessage) {
        emit(
            .wakeRequested(
                .init(app: message.app, notification: id, payload: message.payload, pushType: message.pushType)))
    }

    mutating func grant(_ id: String, wake: String) {
        guard let message = state.messages[id], message.wake == .requested else { return }
        emit(.wakeGranted(.init(app: message.app, notification: id, pushType: message.pushType, wake: wake)))
    }

    /// An alert is shown when the handler is done.
    mutating func complete(_ id: String, _ result: WakeResult?) {
        guard let message = state.messages[id], message.wake == .granted else { return }
        emit(
            .wakeCompleted(.init(app: message.app, notification: id, pushType: message.pushType, result: result)))
        present(id, message, .completed)
    }

    /// An alert is shown all the same. A silent notification is held again where the cause passes, else given up; the app
    /// on screen has it without a wake.
    mutating func refuse(_ id: String, _ refusal: WakeRefusal) {
        guard let message = state.messages[id], message.wake == .requested else { return }
        refund(id)
        emit(
            .wakeRefused(.init(app: message.app, notification: id, pushType: message.pushType, refusal: refusal)))
        guard message.silent else { return present(id, message, .refused) }
        if refusal == .inForeground {
            acknowledge(id)
        } else if policy.temporaryRefusals.contains(refusal) {
            // The end of Low Power Mode is told; the ends of the others are not.
            let isTold = refusal == .lowPowerMode
            hold(id, isTold ? .heldLowPower : .heldRefused, until: isTold ? nil : now + policy.refusalRetry)
        } else {
            discard(id, .discardedNotWoken, refusal: refusal)
        }
    }

    /// The process of an app ended: no handler of its will be done.
    mutating func endWakes(of app: String) {
        for (id, message) in state.messages where message.app == app && message.wake == .granted {
            emit(.wakeEnded(.init(app: app, notification: id, pushType: message.pushType)))
            present(id, message, .ended)
        }
    }

    /// Follows the wake of what the device has no further. An alert is shown without it.
    mutating func abandonWake(_ id: String, _ message: PushMessage) {
        emit(
            .wakeEnded(
                .init(app: message.app, notification: id, pushType: message.pushType, status: .wakeNotAwaited)))
        present(id, message, .notAwaited)
    }

    mutating func present(_ id: String, _ message: PushMessage, _ cause: PresentationCause) {
        guard !message.silent else { return }
        emit(
            .notificationPresented(
                .init(app: message.app, cause: cause, notification: id, pushType: message.pushType)))
    }
}
