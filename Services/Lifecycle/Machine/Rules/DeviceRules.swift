import Contracts
import Machines
import OrderedCollections
import Timeline

// Registration, conditions and power of the device; installed apps.
extension Decision<LifecycleMachine> {
    mutating func register(_ registration: Registration) {
        guard state.registration != registration else { return }
        if state.registration == nil {
            emit(.deviceRegistered(.init(registration: registration)))
        } else {
            emit(.deviceUpdated(.init(registration: registration)))
        }
    }

    /// Requests the erasure of the history. A device that is registered is deregistered first.
    mutating func erase() {
        if state.registration != nil { emit(.deviceDeregistered(.init())) }
        emit(.deviceErased(.init()))
    }

    mutating func updateConditions(_ report: ConditionsReport) throws(LifecycleRefusal) {
        try requireModes(of: report)
        let report = report.completed(by: state.conditions)
        let wasLocked = state.conditions.locked == true
        let locksNow = report.locked == true && !wasLocked
        let takesPrewarmed =
            report.memoryPressure.map { $0 != .normal } ?? false && state.apps.values.contains { $0.prewarmedAt != nil }
        if state.conditions.merging(report) != state.conditions || takesPrewarmed {
            // A copy of the state makes changes more expensive.
            let before = report.lowPowerMode != nil || report.network != nil ? state : nil
            emit(.conditionsChanged(.init(conditions: report)))
            if let before { tellRefreshStatus(since: before) }
            tellOfPlaces()
        }
        if locksNow { clearForeground(.locked) }
        if wasLocked, report.locked == false {
            emit(.deviceAwoke(.init(cause: .unlocked, until: now + LifecyclePolicy.awakeTime)))
            tellStatesOnDisplay()
        }
        if report.memoryPressure == .warning || report.thermal == .serious { expireStalledTasks() }
        // Also for the same pressure as before: the earlier terminations were not enough.
        if let pressure = report.memoryPressure { relieve(pressure) }
        if report.thermal == .critical { coolDown() }
    }

    /// A loss of power ends all processes. A boot clears the force-quit flags.
    mutating func power(_ event: PowerEvent) {
        switch event {
        case .boot where state.isPoweredOn, .off where !state.isPoweredOn: return
        case .boot, .reboot, .off: break
        }
        for (app, record) in state.apps where record.state != .notRunning { terminate(app, .powerOff) }
        emit(.devicePowered(.init(power: event)))
        forgetBluetooth()
        guard event != .off else { return }
        tellOfPlaces()
        for app in state.apps.keys { reopenSocket(app) }
    }

    /// An update of a running app first ends its process.
    mutating func install(_ app: String, _ manifest: Manifest) throws(LifecycleRefusal) {
        if let authorization = manifest.notificationAuthorization { try requireFeature(of: authorization) }
        if let record = state.apps[app] {
            guard record.manifest != manifest else { return }
            if record.state != .notRunning { terminate(app, .updated) }
        }
        emit(.appInstalled(.init(app: app, manifest: manifest)))
    }

    mutating func uninstall(_ app: String) throws(LifecycleRefusal) {
        if try installed(app).state != .notRunning { terminate(app, .uninstalled) }
        emit(.appUninstalled(.init(app: app)))
    }
}
