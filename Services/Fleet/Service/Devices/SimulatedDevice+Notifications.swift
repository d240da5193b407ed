import Scenarios
import Timeline

// Notifications: an app registers and asks for authorization at its first use. Its user answers.
extension SimulatedDevice {
    /// The percentage of questions that users deny (our choice).
    static let denying = 8

    /// Schedules the registration and the question of an app that lacks them.
    mutating func wantNotifications(_ app: Int, at now: Instant) {
        drop(app) { $0 == .register || $0 == .askForNotifications }
        if apps[app].pushToken == nil { schedule(.register, of: app, at: now) }
        if !apps[app].hasAsked { schedule(.askForNotifications, of: app, at: now) }
    }

    /// The user answers.
    mutating func askForNotifications(_ app: Int) -> [Action] {
        guard !apps[app].hasAsked else { return [] }
        let isAllowed = !random.percent(Self.denying)
        return [.requestAuthorization(app: apps[app].model.identifier, isAllowed: isAllowed)]
    }
}
