import Contracts
import Machines
import OrderedCollections

// Visits: the system notices that the user arrives at a place or leaves it. The device reports it. The service launches
// an app that was terminated (Apple, `startMonitoringVisits()`), also after a force quit, as for significant changes
// (our choice).
extension Decision<LifecycleMachine> {
    mutating func monitorVisits(_ app: String) throws(LifecycleRefusal) {
        let record = try running(app)
        try require(.visits)
        guard record.locationAuthorization.allowsUpdates else { throw .locationDenied }
        if !record.monitorsVisits { emit(.visitsMonitored(.init(app: app))) }
    }

    mutating func stopMonitoringVisits(_ app: String) throws(LifecycleRefusal) {
        guard try running(app).monitorsVisits else { return }
        emit(.visitsUnmonitored(.init(app: app)))
    }

    /// Calls each monitoring app in use or in an open wake for a visit, and wakes the others.
    mutating func visit(_ kind: VisitKind) throws(LifecycleRefusal) {
        try require(.visits)
        guard state.isPoweredOn else { throw .deviceOff }
        for (app, record) in state.apps where record.monitorsVisits && record.takesVisit(at: now) {
            let callbacks = takesEvents(app, of: .visit) ? [.didVisit] : told(.didVisit, app)
            emit(.visitReported(.init(app: app, callbacks: callbacks, kind: kind)))
            if callbacks.isEmpty { wake(app, for: .visit, request: nil) }
        }
    }
}
