import Contracts
import Machines
import OrderedCollections

// What the device shows, and what the user does to it.
extension Decision<PushMachine> {
    /// The user opened a notification. What the user sees, the device has.
    mutating func open(_ id: String) throws(PushRefusal) {
        guard state.conditions.poweredOn else { throw .deviceOff }
        // Before its handler is done an alert is not shown.
        if let message = state.messages[id], message.isForUser, message.wake == .none { acknowledge(id) }
        guard let shown = state.shown.first(where: { $0.id == id }) else { throw .notificationNotShown(id) }
        emit(.notificationOpened(.init(app: shown.app, notification: id, pushType: shown.pushType)))
    }

    /// One that the device has, or that waits for it, makes way for a newer one of the same app and collapse id.
    mutating func collapse(into id: String, _ message: PushMessage) {
        guard let collapse = message.collapseID else { return }
        for (older, other) in state.messages
        where older != id && other.app == message.app && other.collapseID == collapse && !other.silent {
            replace(older, other, by: id)
        }
        for shown in state.shown
        where shown.id != id && shown.app == message.app && shown.collapseID == collapse {
            emit(
                .notificationReplaced(
                    .init(app: shown.app, by: id, notification: shown.id, pushType: shown.pushType)))
        }
    }

    mutating func replace(_ older: String, _ message: PushMessage, by newer: String) {
        emit(
            .notificationReplaced(
                .init(app: message.app, by: newer, notification: older, pushType: message.pushType)))
    }
}
