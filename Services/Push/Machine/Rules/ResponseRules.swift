import Contracts
import Machines
import OrderedCollections
import Timeline

// Categories of an app, and the user's responses to its notifications.
extension Decision<PushMachine> {
    /// Sets all categories of an app. Its code does it (Apple, `setNotificationCategories(_:)`).
    mutating func setCategories(_ categories: [NotificationCategory], of app: String) throws(PushRefusal) {
        let record = try running(app)
        try require(.notificationActions)
        if categories.contains(where: { $0.actions.contains(where: \.textInput) }) { try require(.textInputActions) }
        if categories.contains(where: { !$0.options.isEmpty }) { try require(.userNotificationCenter) }
        guard record.categories != categories else { return }
        var changed = record
        changed.categories = categories
        let growth = changed.categoryCost - record.categoryCost
        let used = state.apps.values.reduce(0) { $0 + $1.categoryCost }
        let room = policy.stateBytes - LiveActivity.contentBytes - state.standingCost
        guard growth <= max(0, min(room, policy.categoryBytes - used)) else { throw .noRoomForCategories }
        emit(.categoriesChanged(.init(app: app, categories: categories)))
        makeRoom()
    }

    /// Responds to a shown notification, as its user. The default action opens the app, as an action with the option
    /// `foreground` does. `lifecycle` wakes the app for any other response that the app gets.
    mutating func respond(to id: String, _ response: NotificationResponse) throws(PushRefusal) {
        let shown = try visible(id)
        switch response.actionIdentifier {
        case NotificationResponse.defaultAction:
            guard response.userText == nil else { throw .textUnexpected(response.actionIdentifier) }
            try open(id)
        case NotificationResponse.dismissAction:
            guard response.userText == nil else { throw .textUnexpected(response.actionIdentifier) }
            dismiss(shown)
        default: try respond(to: shown, response)
        }
    }

    private mutating func respond(
        to shown: ShownNotification, _ response: NotificationResponse
    ) throws(PushRefusal) {
        try require(.notificationActions)
        let action = category(of: shown)?.actions.first { $0.identifier == response.actionIdentifier }
        guard let action else { throw .actionUnknown(response.actionIdentifier) }
        guard action.textInput || response.userText == nil else { throw .textUnexpected(action.identifier) }
        guard !action.textInput || response.userText != nil else { throw .textMissing(action.identifier) }
        guard !action.needsUnlock || !state.conditions.locked else { throw .deviceLocked(action.identifier) }
        if action.options.contains(.foreground) {
            emit(
                .notificationOpened(
                    .init(
                        actionIdentifier: action.identifier, app: shown.app, notification: shown.id,
                        pushType: shown.pushType, userText: response.userText)))
        } else {
            tellApp(action.identifier, shown, userText: response.userText)
        }
    }

    /// Dismisses a notification. The app learns of it only if the category has the option `customDismissAction` (Apple,
    /// `UNNotificationDismissActionIdentifier`).
    private mutating func dismiss(_ shown: ShownNotification) {
        guard category(of: shown)?.options.contains(.customDismissAction) == true, profile.has(.userNotificationCenter)
        else {
            return emit(
                .notificationDismissed(.init(app: shown.app, notification: shown.id, pushType: shown.pushType)))
        }
        tellApp(NotificationResponse.dismissAction, shown)
    }

    private mutating func tellApp(_ action: String, _ shown: ShownNotification, userText: String? = nil) {
        emit(
            .notificationResponded(
                .init(
                    actionIdentifier: action, app: shown.app, notification: shown.id, pushType: shown.pushType,
                    userText: userText)))
    }

    private func category(of shown: ShownNotification) -> NotificationCategory? {
        state.apps[shown.app]?.categories.first { $0.identifier == shown.category }
    }
}

extension PushedApp {
    /// An upper estimate of the bytes of its categories.
    var categoryCost: Int {
        categories.reduce(0) {
            $0 + 16 + $1.identifier.utf8.count + $1.options.count
                + $1.actions.reduce(0) { $0 + 16 + $1.identifier.utf8.count }
        }
    }
}
