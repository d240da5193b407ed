import Contracts
import Machines
import OrderedCollections
import Timeline

// Facts of `lifecycle` about the device and its apps.
extension Decision<PushMachine> {
    mutating func handle(_ event: Event) throws(PushRefusal) {
        switch try DeviceFact.read(event, isRegistered: state.isKnown, orThrow: PushRefusal.unreadableEvent) {
        case .registration(let registration): note(registration)
        case .removal: drop()
        case .erasure: if !state.retired.isEmpty { emit(.deviceErased(.init())) }
        case .power(let isOn): change { $0.poweredOn = isOn }
        case .conditions(let report): take(report)
        case .settings(let settings, let app): take(settings, of: app)
        case .installation(let manifest, let app): install(app, manifest)
        case .uninstallation(let app): uninstall(app)
        case .opening(let appState, let app): use(app, appState)
        case .transition(let appState, let app): note(app) { $0.state = AppPresence(appState) }
        case .termination(let event, let app):
            note(app) { $0.state = AppPresence(event.state) }
            discardHeld(of: app, event.reason)
            endWakes(of: app)
        case .wake(let event, let app):
            note(app) { $0.state = AppPresence(event.state) }
            if let request = event.request { grant(request, wake: event.wake) }
            if state.isOnline { flushStore() }
        case .wakeCompletion(let event, _): if let request = event.request { complete(request, event) }
        case .wakeRefusal(let event, _): if let request = event.request { refuse(request, event.refusal) }
        case .client, .wakeExpiration, nil: return
        }
    }

    private mutating func note(_ registration: Registration) {
        guard
            !state.isKnown || state.fleet != registration.fleet || state.profile != registration.profile
                || state.timeZone != registration.timeZone || state.simulate != registration.simulate
        else { return }
        emit(
            .deviceUpdated(
                .init(
                    fleet: registration.fleet, profile: registration.profile, simulate: registration.simulate,
                    summaryTimes: state.summaryTimes, timeZone: registration.timeZone)))
    }

    private mutating func drop() {
        endConnection(.deregistered)
        for app in state.apps.keys { retire(app, .deregistered) }
        emit(.deviceRemoved(.init()))
    }

    private mutating func take(_ report: Conditions) {
        change { conditions in
            conditions.charging = report.battery?.charging ?? conditions.charging
            conditions.doNotDisturb = report.doNotDisturb ?? conditions.doNotDisturb
            conditions.focus = report.focus ?? conditions.focus
            conditions.locked = report.locked ?? conditions.locked
            conditions.lowPowerMode = report.lowPowerMode ?? conditions.lowPowerMode
            conditions.network = report.network?.kind ?? conditions.network
        }
    }

    /// Updates the conditions, and sends or disconnects accordingly.
    private mutating func change(_ body: (inout PushEvent.ConditionsChanged) -> Void) {
        let before = (conditions: state.conditions, isPowerFriendly: state.isPowerFriendly)
        var conditions = state.conditions
        body(&conditions)
        guard conditions != before.conditions else { return }
        emit(.conditionsChanged(conditions))
        if !conditions.poweredOn { endExtensions(.deviceOff) } else { showSummary() }
        if !state.hasNetwork { endConnection(conditions.poweredOn ? .networkLost : .powerLost) }
        guard state.isOnline else { return }
        if state.isPowerFriendly, !before.isPowerFriendly { flushStore() }
        if before.conditions.lowPowerMode, !conditions.lowPowerMode { releaseWithinBudget() }
    }

    /// Updates the user's settings for an app's notifications, or the times of the summary. The alerts that are held keep
    /// their time: our choice.
    private mutating func take(_ settings: Settings, of app: String?) {
        guard let app else {
            guard let times = settings.summaryTimes, times != state.summaryTimes else { return }
            return emit(
                .deviceUpdated(
                    .init(
                        fleet: state.fleet, profile: state.profile, simulate: state.simulate, summaryTimes: times,
                        timeZone: state.timeZone)))
        }
        guard let notifications = settings.notifications else { return }
        note(app) { $0.notifications = notifications }
        endSummary(of: app)
    }

    private mutating func install(_ app: String, _ manifest: Manifest) {
        let wakes = canWake(manifest)
        let hasExtension = manifest.notificationServiceExtension
        guard state.apps[app] != nil else {
            let notifications = NotificationSettings(installing: manifest)
            return emit(
                .appUpdated(
                    .init(
                        app: app, hasServiceExtension: hasExtension, notifications: notifications, state: .notRunning,
                        wakes: wakes)))
        }
        note(app) {
            $0.wakes = wakes
            $0.hasServiceExtension = hasExtension
        }
    }

    private mutating func uninstall(_ app: String) {
        guard state.apps[app] != nil else { return }
        retire(app, .uninstalled)
        emit(.appRemoved(.init(app: app)))
    }

    /// Delivers held notifications when the user opens an app.
    private mutating func use(_ app: String, _ appState: AppState) {
        let now = now
        note(app) {
            $0.state = AppPresence(appState)
            $0.usedAt = now
        }
        guard state.isOnline else { return }
        release(.releasedLaunch) { $0.app == app }
    }

    private mutating func note(_ app: String, _ body: (inout PushedApp) -> Void) {
        guard let before = state.apps[app] else { return }
        var after = before
        body(&after)
        guard after != before else { return }
        var present = before
        (present.state, present.usedAt) = (after.state, after.usedAt)
        guard after != present else {
            let isOpened = after.usedAt != before.usedAt
            return emit(
                .presenceChanged(.init(app: app, state: after.state, usedAt: isOpened ? after.usedAt : nil)))
        }
        emit(
            .appUpdated(
                .init(
                    app: app, hasServiceExtension: after.hasServiceExtension, notifications: after.notifications,
                    state: after.state, usedAt: after.usedAt, wakes: after.wakes)))
    }
}
