import Contracts
import Machines
import OrderedCollections
import Timeline

// Continuous modes: an app that declares a mode runs in the background for as long as it does what the mode is for, and nothing
// else ("Enregistrer comme application nécessaire à l'arrière-plan" in the source documents).
extension Decision<LifecycleMachine> {
    /// On screen an app may do anything; in the background only what it declared, and what the user lets it.
    mutating func startActivity(
        _ app: String, _ kind: ActivityKind, _ request: ActivityRequest
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        if kind == .location, !record.locationAuthorization.allowsUpdates { throw .locationDenied }
        if record.state == .background {
            guard record.ending == nil else { throw .activityNotAllowed(kind) }
            guard mayRunInBackground(kind, request, app, record) else { throw .activityNotAllowed(kind) }
        }
        let isAwaited = kind == .voip && record.wakes.values.contains(where: \.awaitsCall)
        guard isAwaited || record.activities[kind.rawValue]?.request != request else { return }
        emit(.activityStarted(.init(app: app, activity: kind, request: request)))
    }

    /// Stopping what does not go on is harmless.
    mutating func stopActivity(_ app: String, _ kind: ActivityKind) throws(LifecycleRefusal) {
        guard try running(app).activities[kind.rawValue] != nil else { return }
        emit(.activityStopped(.init(app: app, activity: kind, callbacks: [], cause: .app)))
        settle(app)
    }

    /// Ends in the background what may not go on there.
    mutating func stopActivitiesNotAllowed(_ app: String) {
        guard let record = state.apps[app] else { return }
        for (name, activity) in record.activities {
            guard let kind = ActivityKind(rawValue: name),
                !mayRunInBackground(kind, activity.request, app, record)
            else { continue }
            emit(.activityStopped(.init(app: app, activity: kind, callbacks: [], cause: .notAllowed)))
        }
    }

    /// What the user's choices end: location updates without an authorization at once, and in the background all that Background
    /// App Refresh must be on for.
    mutating func reviewActivities() {
        for (app, record) in state.apps where !record.activities.isEmpty {
            if record.activities[ActivityKind.location.rawValue] != nil, !record.locationAuthorization.allowsUpdates {
                emit(.activityStopped(.init(app: app, activity: .location, callbacks: [], cause: .notAuthorized)))
            }
            settle(app)
        }
    }

    /// Pauses the location updates of a device that does not move.
    mutating func pauseUpdates() {
        for (app, record) in state.apps {
            guard let due = record.updatesPauseDue, due <= now else { continue }
            emit(
                .activityStopped(
                    .init(app: app, activity: .location, callbacks: [.didPauseLocationUpdates], cause: .paused)))
            settle(app)
        }
    }

    private func mayRunInBackground(
        _ kind: ActivityKind, _ request: ActivityRequest, _ app: String, _ record: InstalledApp
    ) -> Bool {
        guard kind.modes.contains(where: record.manifest.backgroundModes.contains) else { return false }
        if kind == .location, profile.locationNeedsFlag, !request.allowsBackgroundLocationUpdates { return false }
        return !profile.refreshSwitchEndsActivities
            || state.isBackgroundRefreshOn(app) && !state.restrictions.backgroundRefresh
    }
}

extension LocationAuthorization {
    /// Whether an app that runs is told where the device is.
    var allowsUpdates: Bool { self == .whenInUse || self == .always }
}

extension InstalledApp {
    /// When its location updates are paused.
    var updatesPauseDue: Instant? { activities[ActivityKind.location.rawValue]?.pauseDue }
}

extension Wake {
    /// Whether the push that it is for announced a call which the app has not reported.
    var awaitsCall: Bool { kind == .voipPush && !callReported }
}

extension LifecycleMachine {
    /// The last activity that stops lets the clock of the tasks run on.
    mutating func apply(_ event: LifecycleEvent.ActivityStopped, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.activities.removeValue(forKey: event.activity.rawValue)
        apps[app]?.startTaskClock(at: time, isAwake: isAwake)
    }

    mutating func apply(_ event: LifecycleEvent.ActivityStarted, at time: Instant) {
        guard let app = event.app else { return }
        var activity = Activity()
        activity.startedAt = time
        activity.request = event.request
        activity.movedTo = conditions.location
        activity.movedAt = time
        apps[app]?.activities[event.activity.rawValue] = activity
        if apps[app]?.state == .background { apps[app]?.stopTaskClock(at: time) }
        guard event.activity == .voip else { return }
        for (id, wake) in apps[app]?.wakes ?? [:] where wake.awaitsCall { apps[app]?.wakes[id]?.callReported = true }
    }
}
