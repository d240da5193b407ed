public import Contracts
import Machines

// Calls for features that the generation of the device lacks, and the readings of disputed rules.
extension Decision<LifecycleMachine> {
    /// Throws unless the generation of the device has a feature.
    func require(_ feature: Feature) throws(LifecycleRefusal) {
        guard profile.has(feature) else { throw .unsupported(feature, on: profile) }
    }

    /// Whether the deployment follows the source document for a rule.
    func follows(_ rule: DisputedRule) -> Bool { policy.generations[rule] == .document }

    /// Throws if a report switches a mode on that the generation lacks. That a missing mode is off is true.
    func requireModes(of report: ConditionsReport) throws(LifecycleRefusal) {
        if let doNotDisturb = report.doNotDisturb, doNotDisturb != .off { try require(.doNotDisturb) }
        if report.focus?.state == .on { try require(.focus) }
        if report.lowPowerMode == true { try require(.lowPowerMode) }
        if report.network?.constrained == true { try require(.lowDataMode) }
    }

    /// Throws if a completion has a snapshot and the generation has none.
    func requireSnapshots(for label: String?) throws(LifecycleRefusal) {
        if label != nil { try require(.appSwitcherSnapshots) }
    }
}

extension LifecycleMachine {
    /// Whether Low Data Mode is on for the current network. It turns Background App Refresh off (Apple Support, "Use Low
    /// Data Mode on your iPhone and iPad").
    var isLowDataMode: Bool { conditions.network?.constrained == true }

    /// Returns the kind of wake for a notification with `content-available`. A Newsstand app is woken for its content,
    /// unless it declares `remote-notification` and the generation has it.
    public func silentPushKind(of app: InstalledApp, _ profile: Profile) -> WakeKind {
        let modes = app.manifest.backgroundModes
        let hasSilentPushes = modes.contains(.remoteNotification) && profile.has(.silentNotifications)
        return modes.contains(.newsstandContent) && !hasSilentPushes ? .newsstand : .push
    }
}
