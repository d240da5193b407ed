import Contracts
import Machines

// The setup of a device in one step: a refusal of a part changes nothing.
extension Decision<LifecycleMachine> {
    mutating func setUp(_ setup: DeviceSetup) throws(LifecycleRefusal) {
        register(setup.registration)
        for app in setup.apps { try install(app.identifier, app.manifest) }
        for app in setup.apps where app.isLaunched { try bringOnScreen(app.identifier) }
        if let conditions = setup.conditions { try updateConditions(conditions) }
    }

    /// Opens an app as its icon does, so that a repeated setup is not refused.
    private mutating func bringOnScreen(_ app: String) throws(LifecycleRefusal) {
        switch try installed(app).state {
        case .notRunning: try transition(app, .launch)
        case .background, .suspended: try transition(app, .open)
        case .inactive, .active: return
        }
    }
}
