import Contracts
import Machines
import OrderedCollections
import Timeline

// What an app's code does that can cost its life, and what the user sees of it.
extension Decision<LifecycleMachine> {
    /// Told first, so that the log shows what the app died of.
    mutating func act(_ app: String, _ report: ActionReport) throws(LifecycleRefusal) {
        let record = try running(app)
        let shown = report.kind == .localNotification ? record.notifications == .on : nil
        emit(.actionReported(.init(app: app, action: report, shown: shown)))
        if let reason = violation(of: report, by: record) { terminate(app, reason) }
    }

    /// The policy that the action breaks; nil where it breaks none.
    private func violation(of report: ActionReport, by record: InstalledApp) -> EndReason? {
        switch report.kind {
        case .uiUpdate:
            if report.thread == .background { return .uiOffMainThread }
            return profile.uiInBackgroundKills && record.state == .background ? .uiInBackground : nil
        // What has a limit may do anything within it; what runs for its mode alone may do that alone.
        case .work: return record.state == .background && !record.hasLimitedWork ? .workOutsideModes : nil
        case .fileLock, .fileUnlock, .localNotification: return nil
        }
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.ActionReported, at time: Instant) {
        guard let app = event.app else { return }
        switch event.action.kind {
        case .fileLock: apps[app]?.holdsFileLock = true
        case .fileUnlock: apps[app]?.holdsFileLock = false
        case .localNotification: if event.shown == true { apps[app]?.localNotifications += 1 }
        case .uiUpdate, .work: break
        }
    }
}
