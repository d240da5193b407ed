import Contracts
import Machines
import OrderedCollections
import Timeline

// Activities of continuous modes: an app with a declared mode runs in the background while the activity of the mode
// continues. Other work ends the activity. Source document "Enregistrer comme application nécessaire à l'arrière-plan".
extension Decision<LifecycleMachine> {
    /// An app on screen may start any activity; in the background only a declared one that the user allows.
    mutating func startActivity(
        _ app: String, _ kind: ActivityKind, _ request: ActivityRequest
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        if kind == .newsstand { try require(.newsstand) }
        if kind == .backgroundActivitySession { try require(.backgroundActivitySession) }
        if kind.needsLocation, !record.locationAuthorization.allowsUpdates { throw .locationDenied }
        if record.state == .background {
            guard record.ending == nil else { throw .activityNotAllowed(kind) }
            guard mayRunInBackground(kind, request, app, record) else {
                let refusal = LifecycleRefusal.activityNotAllowed(kind)
                let isByReading =
                    follows(.backgroundAppRefresh) && profile.name.version >= 13 && !state.allowsActivities(app)
                throw isByReading ? refusal.decided(by: .backgroundAppRefresh, .document) : refusal
            }
            if kind.needsLocation, !record.mayStartLocation { throw .locationNotInUse }
        }
        let isAwaited = kind == .voip && record.wakes.values.contains(where: \.awaitsCall)
        guard isAwaited || record.activities[kind.rawValue]?.request != request else { return }
        emit(.activityStarted(.init(activity: kind, app: app, request: request)))
    }

    /// Stopping an inactive activity does nothing.
    mutating func stopActivity(_ app: String, _ kind: ActivityKind) throws(LifecycleRefusal) {
        guard try running(app).activities[kind.rawValue] != nil else { return }
        emit(.activityStopped(.init(activity: kind, app: app, callbacks: [], cause: .app)))
        settle(app)
    }

    /// Stops the activities that are not allowed in the background.
    mutating func stopActivitiesNotAllowed(_ app: String) {
        guard let record = state.apps[app] else { return }
        for (name, activity) in record.activities {
            guard let kind = ActivityKind(rawValue: name),
                !mayRunInBackground(kind, activity.request, app, record)
            else { continue }
            emit(.activityStopped(.init(activity: kind, app: app, callbacks: [], cause: .notAllowed)))
        }
    }

    /// Stops activities after a change of settings: location updates without authorization, and in the background all
    /// that need Background App Refresh.
    mutating func reviewActivities() {
        for (app, record) in state.apps where !record.activities.isEmpty {
            if !record.locationAuthorization.allowsUpdates {
                for kind in [ActivityKind.location, .backgroundActivitySession]
                where record.activities[kind.rawValue] != nil {
                    emit(.activityStopped(.init(activity: kind, app: app, callbacks: [], cause: .notAuthorized)))
                }
            }
            settle(app)
        }
    }

    /// Pauses the location updates of a device that does not move.
    mutating func pauseUpdates() {
        let apps = state.known
        for (index, app) in state.apps.keys.enumerated() where !apps[index].activities.isEmpty {
            guard let due = apps[index].updatesPauseDue, due <= now else { continue }
            emit(
                .activityStopped(
                    .init(activity: .location, app: app, callbacks: [.didPauseLocationUpdates], cause: .paused)))
            settle(app)
        }
    }

    private func mayRunInBackground(
        _ kind: ActivityKind, _ request: ActivityRequest, _ app: String, _ record: InstalledApp
    ) -> Bool {
        guard kind.modes.contains(where: record.manifest.backgroundModes.contains) else { return false }
        if kind == .location, profile.has(.locationFlag), !request.allowsBackgroundLocationUpdates,
            !record.hasBackgroundActivitySession
        {
            return false
        }
        return !profile.has(.refreshSwitchEndsActivities) || state.allowsActivities(app)
    }
}

extension LocationAuthorization {
    /// Whether a running app gets locations.
    var allowsUpdates: Bool {
        switch self {
        case .whenInUse, .always, .once: true
        case .notDetermined, .denied: false
        }
    }
}

extension InstalledApp {
    /// Whether a `CLBackgroundActivitySession` keeps the app in use.
    var hasBackgroundActivitySession: Bool { activities[ActivityKind.backgroundActivitySession.rawValue] != nil }

    /// Whether the user uses the app: it is on screen, or its background activity session shows that it runs.
    public var isInUse: Bool { state.isForeground || state == .background && hasBackgroundActivitySession }

    /// Whether the app can start location services now. `always` allows it in the background too.
    fileprivate var mayStartLocation: Bool { locationAuthorization == .always || isInUse }
}

extension InstalledApp {
    /// The time at which its location updates pause.
    var updatesPauseDue: Instant? { activities[ActivityKind.location.rawValue]?.pauseDue }
}

extension Wake {
    /// Whether the app must still report the call of a VoIP push.
    var awaitsCall: Bool { kind == .voipPush && !callReported }
}

extension LifecycleMachine {
    /// The end of the last activity starts the clock of background tasks again.
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
