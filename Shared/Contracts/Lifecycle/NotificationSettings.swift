public import Records

/// `UNAuthorizationStatus`: whether an app may show notifications.
public enum NotificationAuthorization: String, WireEnum {
    /// The app has not asked the user yet.
    case notDetermined
    case denied, authorized
    /// Notifications come quietly, on trial (from iOS 12).
    case provisional
    /// An App Clip may show notifications for a limited time (from iOS 14).
    case ephemeral

    /// Whether the device shows notifications of the app at all.
    public var allows: Bool { self != .notDetermined && self != .denied }
}

/// `UNNotificationSettings`: the user's settings for the notifications of an app.
public struct NotificationSettings: Record, Equatable {
    /// Whether alerts are shown.
    public var alert: Switch = .on
    public var authorization: NotificationAuthorization = .notDetermined
    /// Whether badges are set on the icon of the app.
    public var badge: Switch = .on
    /// Whether critical alerts sound despite the mute switch (from iOS 12).
    public var criticalAlert: Switch = .off
    /// `scheduledDeliverySetting`: whether alerts come with the scheduled summary (from iOS 15).
    public var scheduledDelivery: Switch = .off
    public var sound: Switch = .on
    /// Whether time-sensitive notifications break through (from iOS 15). They need an entitlement.
    public var timeSensitive: Switch = .off

    /// Whether the device shows alerts of the app.
    public var showsAlerts: Bool { authorization.allows && alert == .on }
}

/// A change of the settings for the notifications of an app. A missing member does not change.
public struct NotificationSettingsChange: Record, Equatable {
    public var alert: Switch?
    public var authorization: NotificationAuthorization?
    public var badge: Switch?
    public var criticalAlert: Switch?
    public var scheduledDelivery: Switch?
    public var sound: Switch?
    public var timeSensitive: Switch?
}

extension NotificationSettings {
    /// The settings of a new installation. The user has not made a choice yet (Apple, `UNAuthorizationStatus.notDetermined`).
    public init(installing manifest: Manifest) {
        self.init()
        authorization = manifest.notificationAuthorization ?? .notDetermined
        timeSensitive = manifest.entitlements.contains(.timeSensitiveNotifications) ? .on : .off
    }

    /// Returns the settings after a change.
    public func changed(by change: NotificationSettingsChange) -> Self {
        var settings = self
        settings.alert = change.alert ?? alert
        settings.authorization = change.authorization ?? authorization
        settings.badge = change.badge ?? badge
        settings.criticalAlert = change.criticalAlert ?? criticalAlert
        settings.scheduledDelivery = change.scheduledDelivery ?? scheduledDelivery
        settings.sound = change.sound ?? sound
        settings.timeSensitive = change.timeSensitive ?? timeSensitive
        return settings
    }
}
