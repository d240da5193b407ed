import Contracts
import Machines
import OrderedCollections
import Timeline

// Interruption levels, Do Not Disturb and Focus (Apple, "Managing notifications": a Focus delays the alert, but "the
// notification itself is available as soon as it arrives").
extension Decision<PushMachine> {
    /// Returns why the device adds an alert to the Notification Center without lighting up the screen or a sound; nil if
    /// the alert interrupts the user. On screen, the options of `willPresent` decide.
    func quietCause(of message: PushMessage) -> QuietCause? {
        guard message.isForUser, !willPresent(message), let app = state.apps[message.app] else { return nil }
        if app.notifications.authorization == .provisional { return .provisional }
        let level = level(of: message, app.notifications)
        if level == .passive { return .passive }
        if summaryTime(of: message) != nil { return .summary }
        if isSilenced(message.app, level) { return .focus }
        return isDisturbing(level) ? nil : .doNotDisturb
    }

    /// Returns the level with which an alert interrupts the user. The levels above `active` need the user's settings;
    /// without them, the alert is `active` (our choice).
    func level(of message: PushMessage, _ settings: NotificationSettings) -> InterruptionLevel {
        guard profile.has(.interruptionLevels) else {
            return message.hasCriticalSound && settings.criticalAlert == .on ? .critical : .active
        }
        switch message.interruptionLevel {
        case .passive: return .passive
        case .active: return .active
        case .timeSensitive: return settings.timeSensitive == .on ? .timeSensitive : .active
        case .critical: return settings.criticalAlert == .on ? .critical : .active
        }
    }

    /// Whether Do Not Disturb lets an alert through. Critical alerts ignore it.
    private func isDisturbing(_ level: InterruptionLevel) -> Bool {
        guard profile.has(.doNotDisturb), level != .critical else { return true }
        return switch state.conditions.doNotDisturb {
        case .always: false
        case .whileLocked: !state.conditions.locked
        case .off, nil: true
        }
    }

    /// Whether the Focus of the user silences an app.
    private func isSilenced(_ app: String, _ level: InterruptionLevel) -> Bool {
        guard profile.has(.focus), let focus = state.conditions.focus, focus.state == .on else { return false }
        switch level {
        case .critical: return false
        case .timeSensitive where focus.timeSensitive == .on: return false
        case .timeSensitive, .active, .passive: return !focus.allowedApps.contains(app)
        }
    }
}
