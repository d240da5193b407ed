public import Records

/// `UNAuthorizationOptions`: an interaction that an app asks the user to allow.
public enum AuthorizationOption: String, WireEnum {
    case alert, badge, sound
    /// From iOS 12, and with an entitlement.
    case criticalAlert
    /// Notifications on trial, without a question to the user (from iOS 12).
    case provisional
}

/// The answer of the user to the question whether an app may send notifications.
public enum AuthorizationAnswer: String, WireEnum { case allow, deny }

/// The request of an app for authorization to send notifications:
/// `UNUserNotificationCenter.requestAuthorization(options:completionHandler:)`. Before iOS 10 it stands for
/// `registerUserNotificationSettings(_:)`, before iOS 8 for `registerForRemoteNotificationTypes(_:)`.
public struct AuthorizationRequest: Record, Equatable {
    /// The answer of the user, if the system asks.
    public var answer: AuthorizationAnswer?
    public var options: [AuthorizationOption]

    enum Constraints {
        static let options: Constraint<[AuthorizationOption]> = .count(0...AuthorizationOption.allCases.count)
    }
}

extension AuthorizationRequest {
    /// Returns the settings after the decision about the request.
    public func settings(
        after current: NotificationSettings, deciding authorization: NotificationAuthorization
    ) -> NotificationSettings {
        var settings = current
        settings.authorization = authorization
        settings.alert = setting(.alert)
        settings.badge = setting(.badge)
        settings.criticalAlert = setting(.criticalAlert)
        settings.sound = setting(.sound)
        return settings
    }

    private func setting(_ option: AuthorizationOption) -> Switch { options.contains(option) ? .on : .off }
}
