import Contracts
import Machines
import OrderedCollections

// The user's authorization of notifications. APNs accepts a notification without it, and the device does not show it.
extension Decision<PushMachine> {
    /// Returns why a device does not show a notification; nil if it needs no permission or has it.
    func obstacle(to message: PushMessage, _ settings: NotificationSettings) -> ConsoleStatus? {
        guard message.needsPermission else { return nil }
        return switch settings.authorization {
        case .notDetermined: .discardedNotAuthorized
        case .denied: .discardedDisabled
        case .authorized, .provisional, .ephemeral: nil
        }
    }

    /// Whether the user allows a notification now. An alert also needs the switch for alerts.
    func isPermitted(_ message: PushMessage) -> Bool {
        guard message.needsPermission, let settings = state.apps[message.app]?.notifications else { return true }
        return message.isForUser ? settings.showsAlerts : settings.authorization.allows
    }

    /// Shows an alert, or discards it if the user does not allow it any more.
    mutating func presentIfPermitted(_ id: String, _ message: PushMessage, _ cause: PresentationCause) {
        guard !isPermitted(message), !message.isPresented, let app = state.apps[message.app] else {
            return present(id, message, cause)
        }
        discard(id, obstacle(to: message, app.notifications) ?? .discardedDisabled)
    }
}
