import Contracts
import Machines

// Settings of the user for the notifications of an app.
extension Decision<LifecycleMachine> {
    /// Throws if a change names a setting that the generation lacks.
    func requireFeatures(of change: NotificationSettingsChange) throws(LifecycleRefusal) {
        if let authorization = change.authorization { try requireFeature(of: authorization) }
        if change.criticalAlert != nil { try require(.criticalAlerts) }
        if change.timeSensitive != nil { try require(.interruptionLevels) }
    }

    /// Throws if the generation lacks an authorization.
    func requireFeature(of authorization: NotificationAuthorization) throws(LifecycleRefusal) {
        switch authorization {
        case .provisional: try require(.provisionalAuthorization)
        case .ephemeral: try require(.ephemeralAuthorization)
        case .notDetermined, .denied, .authorized: return
        }
    }
}
