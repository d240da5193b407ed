import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Notification service extensions. The device runs the extension of an app when an alert with `mutable-content` arrives,
// and does not wake the app for it.
extension Decision<PushMachine> {
    /// Returns the time until which the service extension may change a notification that is delivered now; nil if no
    /// extension runs. Before `push` delivers an alert, it checks the permission (Apple, "Modifying content in newly
    /// delivered notifications": without alerts, "the extension isn't employed").
    func extensionDeadline(of message: PushMessage) -> Instant? {
        guard message.isMutable, !message.isPresented, isPermitted(message), message.serviceExtension != .ended,
            state.apps[message.app]?.hasServiceExtension == true
        else { return nil }
        return profile.limit(of: .notificationServiceExtension).map { now + $0 }
    }

    /// Applies the content that a service extension returned. Off screen, this also acknowledges the notification. On
    /// screen, `willPresent` decides next.
    mutating func modify(_ id: String, _ content: NotificationContent) throws(PushRefusal) {
        try require(.notificationServiceExtension)
        guard let message = state.messages[id], message.serviceExtension == .running else {
            throw .extensionNotRunning(id)
        }
        guard !content.changes.isEmpty else { return endExtension(of: id, .unchanged) }
        guard content.leavesText(of: message.payload) else { return endExtension(of: id, .noAlertText) }
        let willPresent = isOnScreen(message)
        emit(
            .notificationModified(
                .init(
                    app: message.app, content: content, notification: id, pushType: message.pushType,
                    willPresent: willPresent)))
        if !willPresent { goOn(id, message, isReturned: true) }
    }

    /// Ends the service extension of a notification, if one runs. The alert keeps its content.
    mutating func endExtension(of id: String, _ cause: UnmodifiedCause) {
        guard let message = state.messages[id], message.serviceExtension == .running else { return }
        let willPresent = isOnScreen(message)
        emit(
            .notificationUnmodified(
                .init(
                    app: message.app, cause: cause, notification: id, pushType: message.pushType,
                    willPresent: willPresent)))
        if !willPresent { goOn(id, message, isReturned: cause == .unchanged || cause == .noAlertText) }
    }

    /// Ends all running service extensions of acknowledged notifications. The others are sent again later.
    mutating func endExtensions(_ cause: UnmodifiedCause) {
        for (id, message) in state.messages where message.onDevice { endExtension(of: id, cause) }
    }

    /// Ends the service extensions whose time is over (Apple: "the system displays the original contents").
    mutating func expireExtensions() {
        for (id, message) in state.messages {
            guard let deadline = message.extensionDeadline, deadline <= now else { continue }
            endExtension(of: id, .timeExpired)
        }
    }

    /// Shows an alert after its service extension, unless it waits for its handler. An alert that the device has not
    /// acknowledged is shown with its acknowledgement.
    private mutating func goOn(_ id: String, _ message: PushMessage, isReturned: Bool) {
        if isReturned { acknowledge(id) }
        // An acknowledgement before the end of the extension holds nothing.
        guard message.summaryAt == nil else { return message.onDevice ? holdForSummary(id) : () }
        let hasWake = message.wake != .none
        guard message.onDevice || isReturned || hasWake, !hasWake || !waitsForHandler else { return }
        presentIfPermitted(id, message, .serviceExtension)
    }

    private func isOnScreen(_ message: PushMessage) -> Bool {
        message.wake == .none && message.summaryAt == nil && state.apps[message.app]?.foreground == true
    }
}

extension NotificationContent {
    /// Whether the alert of a payload still has a text with these changes. A text that the device looks up by a key
    /// counts as one.
    fileprivate func leavesText(of payload: JSON) -> Bool {
        let alert = payload["aps"]?["alert"] ?? .null
        func has(_ change: String?, _ members: [String]) -> Bool {
            change.map { !$0.isEmpty } ?? members.contains { alert[$0]?.string?.isEmpty == false }
        }
        return has(title, ["title", "title-loc-key"]) || has(subtitle, ["subtitle", "subtitle-loc-key"])
            || has(body, ["body", "loc-key"]) || body == nil && alert.string?.isEmpty == false
    }
}
