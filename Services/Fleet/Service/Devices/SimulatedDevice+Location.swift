import Records
import Scenarios
import Timeline

// Location: the weather and the game ask for it at their first use. Users do not see why an unrelated app wants it, and
// withdraw the permission after a while.
extension SimulatedDevice {
    /// The percentage of uses after which a user withdraws the permission from an app that has it (our choice).
    static let withdrawing = 3

    /// Schedules the question of an app that was never asked.
    mutating func wantLocation(_ app: Int, at now: Instant) {
        guard apps[app].model.wantsLocation, apps[app].location == nil else { return }
        drop(app) { $0 == .askForLocation }
        schedule(.askForLocation, of: app, in: .milliseconds(100)...(.milliseconds(300)), after: now)
    }

    /// The user answers. With `always`, the app monitors significant changes.
    mutating func askForLocation(_ app: Int) -> [Action] {
        guard apps[app].location == nil else { return [] }
        let answer = random.pick(["always", "whenInUse", "whenInUse", "denied"])
        apps[app].location = answer
        let name = apps[app].model.identifier
        let granted = Action.changeLocation(app: name, answer)
        let events = awaitEvents(of: app)
        return answer == "always" ? [granted, .monitorSignificantChanges(app: name)] + events : [granted]
    }

    /// Returns the actions of a user who leaves an app and may withdraw its permission.
    mutating func considerWithdrawal(from app: Int) -> [Action] {
        guard let location = apps[app].location, location != "denied", random.percent(Self.withdrawing) else {
            return []
        }
        apps[app].location = "denied"
        return [.changeLocation(app: apps[app].model.identifier, "denied")]
    }
}
