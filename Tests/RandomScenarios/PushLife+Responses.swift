import Contracts
import MachineTesting

// Random contents of service extensions, categories, and responses to notifications.
extension PushLife {
    mutating func content() -> NotificationContent {
        let texts: [String?] = [nil, "", "changed"]
        return NotificationContent(
            badge: Bool.random(using: &random) ? count : nil, body: texts.randomElement(using: &random) ?? nil,
            title: texts.randomElement(using: &random) ?? nil)
    }

    mutating func categories() -> [NotificationCategory] {
        let options: [NotificationCategoryOption] = Bool.random(using: &random) ? [.customDismissAction] : []
        let actions = [
            NotificationAction(identifier: "like"), NotificationAction(identifier: "show", options: [.foreground]),
            NotificationAction(identifier: "reply", options: [.authenticationRequired], textInput: true),
        ]
        return [NotificationCategory(actions: actions, identifier: "x", options: options)]
    }

    mutating func response() -> NotificationResponse {
        let standard = [NotificationResponse.defaultAction, NotificationResponse.dismissAction]
        let action = (standard + ["like", "show", "reply", "other"]).randomElement(using: &random) ?? "like"
        return NotificationResponse(
            actionIdentifier: action, userText: action == "reply" || count.isMultiple(of: 9) ? "text" : nil)
    }
}
