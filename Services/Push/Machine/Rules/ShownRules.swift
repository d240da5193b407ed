import Contracts
import Machines
import OrderedCollections

// Shown notifications, and their opening and replacement.
extension Decision<PushMachine> {
    /// Opens a shown notification.
    mutating func open(_ id: String) throws(PushRefusal) {
        let shown = try visible(id)
        emit(.notificationOpened(.init(app: shown.app, notification: id, pushType: shown.pushType)))
    }

    /// Returns a shown notification for an action of the user. A visible notification is acknowledged by that.
    mutating func visible(_ id: String) throws(PushRefusal) -> ShownNotification {
        guard state.conditions.poweredOn else { throw .deviceOff }
        // An alert that waits for its handler, its service extension or `willPresent` is not shown yet.
        if let message = state.messages[id], message.isForUser, message.isPresented || message.wake == .none,
            !message.willPresent, message.summaryAt == nil, message.serviceExtension != .running
        {
            acknowledge(id)
        }
        guard let shown = state.shown.first(where: { $0.id == id }) else { throw .notificationNotShown(id) }
        return shown
    }

    /// Whether `willPresent` decides about an alert: its app is on screen, and the device has not shown it yet.
    func willPresent(_ message: PushMessage) -> Bool {
        message.isForUser && !message.isPresented && message.wake == .none && isPermitted(message)
            && state.apps[message.app]?.foreground == true
    }

    /// Whether a notification arrives with its delivery, because its app is on screen. Before `UNUserNotificationCenter`,
    /// no code of the app decides about an alert on screen. A service extension runs before `willPresent`.
    func arrivesOnScreen(_ message: PushMessage) -> Bool {
        if message.silent { return state.apps[message.app]?.foreground == true }
        return willPresent(message) && extensionDeadline(of: message) == nil && profile.has(.userNotificationCenter)
    }

    /// Applies the options of `willPresent`, and acknowledges the notification. Without this call the device does not
    /// show the alert (Apple, `userNotificationCenter(_:willPresent:withCompletionHandler:)`: "If your delegate does not
    /// implement this method, the system behaves as if you had passed the UNNotificationPresentationOptionNone option").
    mutating func present(_ id: String, _ options: [PresentationOption]) throws(PushRefusal) {
        // Before `UNUserNotificationCenter`, a device showed no alert of an app on screen.
        try require(.userNotificationCenter)
        guard let message = state.messages[id], message.stage == .inFlight, message.willPresent else {
            throw .notificationNotOffered(id)
        }
        _ = try running(message.app)
        guard message.serviceExtension != .running else { throw .extensionRunning(id) }
        if options.contains(where: \.shows) { present(id, message, .willPresent) }
        acknowledge(id)
    }

    /// Replaces older notifications of the same app and collapse id.
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
