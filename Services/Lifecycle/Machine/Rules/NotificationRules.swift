import Contracts
import Machines

// The authorization of an app for notifications: its request, and the settings of the user.
extension Decision<LifecycleMachine> {
    /// Requests authorization. The code of the app does it, so the app must run. The user is asked once (Apple, "Asking
    /// permission to use notifications"): later requests change nothing.
    mutating func requestAuthorization(_ app: String, _ request: AuthorizationRequest) throws(LifecycleRefusal) {
        let record = try running(app)
        for option in request.options { try requireFeature(of: option) }
        let entitlement = Entitlement.criticalAlerts
        guard !request.options.contains(.criticalAlert) || record.manifest.entitlements.contains(entitlement) else {
            throw .entitlementMissing(entitlement)
        }
        guard let authorization = try decide(request, record.notifications.authorization) else { return }
        let asks = authorization != .provisional
        emit(
            .notificationAuthorizationDecided(
                .init(
                    answer: asks ? request.answer : nil, app: app, authorization: authorization,
                    options: request.options)))
        changeNotifications(
            to: request.settings(after: record.notifications, deciding: authorization), of: app, record)
    }

    /// Returns the decision about a request; nil if it was decided before.
    ///
    /// A provisional authorization needs no question. It lets the app ask later: our choice.
    private func decide(
        _ request: AuthorizationRequest, _ current: NotificationAuthorization
    ) throws(LifecycleRefusal) -> NotificationAuthorization? {
        let isOnTrial = request.options.contains(.provisional)
        switch current {
        case .denied, .authorized, .ephemeral: return nil
        case .provisional where isOnTrial: return nil
        case .notDetermined where isOnTrial: return .provisional
        case .notDetermined, .provisional: break
        }
        guard let answer = request.answer else { throw .answerMissing }
        return answer == .allow ? .authorized : .denied
    }

    private mutating func changeNotifications(
        to notifications: NotificationSettings, of app: String, _ record: InstalledApp
    ) {
        var settings = record.settings
        settings.notifications = notifications
        emit(.settingsChanged(.init(app: app, settings: settings)))
    }

    /// Throws if a change names a setting that the generation or the app lacks.
    func requireFeatures(of change: NotificationSettingsChange, _ app: String) throws(LifecycleRefusal) {
        if let authorization = change.authorization { try requireFeature(of: authorization) }
        if change.criticalAlert != nil { try require(.criticalAlerts) }
        if change.scheduledDelivery != nil { try require(.scheduledSummary) }
        if change.timeSensitive != nil { try require(.interruptionLevels) }
        guard change.timeSensitive == .on else { return }
        let entitlement = Entitlement.timeSensitiveNotifications
        guard try installed(app).manifest.entitlements.contains(entitlement) else {
            throw .entitlementMissing(entitlement)
        }
    }

    /// Throws if the generation lacks an authorization.
    func requireFeature(of authorization: NotificationAuthorization) throws(LifecycleRefusal) {
        switch authorization {
        case .provisional: try require(.provisionalAuthorization)
        case .ephemeral: try require(.ephemeralAuthorization)
        case .notDetermined, .denied, .authorized: return
        }
    }

    private func requireFeature(of option: AuthorizationOption) throws(LifecycleRefusal) {
        switch option {
        case .provisional: try require(.provisionalAuthorization)
        case .criticalAlert: try require(.criticalAlerts)
        case .alert, .badge, .sound: return
        }
    }
}
