import Contracts
import Machines
import OrderedCollections
import Timeline

// Actions of an app's code that can end the app, and their local notifications.
extension Decision<LifecycleMachine> {
    /// Emits the action before the termination, so that the log shows the cause.
    mutating func act(_ app: String, _ report: ActionReport) throws(LifecycleRefusal) {
        let record = try running(app)
        let shown = report.kind == .localNotification ? record.notifications.showsAlerts : nil
        emit(.actionReported(.init(action: report, app: app, shown: shown)))
        if let reason = violation(of: report, by: record) { return terminate(app, reason) }
        if report.kind == .work, record.state == .background, !record.hasLimitedWork { withdrawModes(app, record) }
    }

    /// Returns the termination reason of a forbidden action; nil if the action is allowed.
    private func violation(of report: ActionReport, by record: InstalledApp) -> EndReason? {
        switch report.kind {
        case .uiUpdate:
            if report.thread == .background { return .uiOffMainThread }
            return profile.has(.uiInBackgroundKills) && record.state == .background ? .uiInBackground : nil
        case .work, .fileLock, .fileUnlock, .localNotification: return nil
        }
    }

    /// Stops the activities of an app that does other work in the background, so the system suspends the app.
    ///
    /// This applies if only activities keep the app running. Work with a time limit allows any action. Source document
    /// "Introduction au Backgrounding dans iOS": an app has the privilege while it does the tasks of its type.
    private mutating func withdrawModes(_ app: String, _ record: InstalledApp) {
        for name in record.activities.keys {
            guard let kind = ActivityKind(rawValue: name) else { continue }
            emit(.activityStopped(.init(activity: kind, app: app, callbacks: [], cause: .workOutsideModes)))
        }
        settle(app)
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
