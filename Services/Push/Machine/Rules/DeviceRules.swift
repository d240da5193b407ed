import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Events of `lifecycle` about the device and its apps.
extension Decision<PushMachine> {
    mutating func handle(_ event: Event) throws(PushRefusal) {
        let lifecycle: LifecycleEvent
        do throws(ContractError) {
            lifecycle = try LifecycleEvent(type: event.type, version: event.version, data: event.data)
        } catch {
            throw .unreadableEvent(error)
        }
        switch lifecycle {
        case .deviceRegistered(let event): note(event.registration)
        case .deviceUpdated(let event): note(event.registration)
        default: if state.isKnown { handle(lifecycle, as: event) }
        }
    }

    /// Handles the types of ``PushMachine/follows``. The runtime delivers no others.
    private mutating func handle(_ lifecycle: LifecycleEvent, as event: Event) {
        switch lifecycle {
        case .deviceDeregistered: drop()
        case .devicePowered(let event): change { $0.poweredOn = event.power != .off }
        case .conditionsChanged(let event): take(event.conditions)
        case .settingsChanged(let settings): takeSettings(settings.app, event)
        case .appInstalled(let event): install(event.app ?? "", event.manifest)
        case .appUninstalled(let event): uninstall(event.app ?? "")
        case .appLaunched(let event): use(event.app ?? "")
        case .appActivated(let event): use(event.app ?? "")
        case .appBackgrounded(let event): note(event.app ?? "") { $0.foreground = false }
        case .appTerminated(let event):
            note(event.app ?? "") { $0.foreground = false }
            endWakes(of: event.app ?? "")
        case .appWoken(let event):
            if let request = event.request { grant(request, wake: event.wake) }
            if state.isOnline { flushStore() }
        case .wakeCompleted(let event): if let request = event.request { complete(request, event.result) }
        case .wakeRefused(let event): if let request = event.request { refuse(request, event.refusal) }
        default: break
        }
    }

    private mutating func note(_ registration: Registration) {
        guard !state.isKnown || state.fleet != registration.fleet || state.profile != registration.profile else {
            return
        }
        emit(.deviceUpdated(.init(fleet: registration.fleet, profile: registration.profile)))
    }

    private mutating func drop() {
        endConnection(.deregistered)
        for app in state.apps.keys { retire(app, .deregistered) }
        emit(.deviceRemoved(.init()))
    }

    private mutating func take(_ report: Conditions) {
        change { conditions in
            conditions.charging = report.battery?.charging ?? conditions.charging
            conditions.locked = report.locked ?? conditions.locked
            conditions.lowPowerMode = report.lowPowerMode ?? conditions.lowPowerMode
            conditions.network = report.network?.kind ?? conditions.network
        }
    }

    /// Updates the conditions, and sends or disconnects accordingly.
    private mutating func change(_ body: (inout PushEvent.ConditionsChanged) -> Void) {
        let before = state
        var conditions = state.conditions
        body(&conditions)
        guard conditions != before.conditions else { return }
        emit(.conditionsChanged(conditions))
        if !state.hasNetwork { endConnection(conditions.poweredOn ? .networkLost : .powerLost) }
        guard state.isOnline else { return }
        if state.isPowerFriendly, !before.isPowerFriendly { flushStore() }
        if before.conditions.lowPowerMode, !conditions.lowPowerMode { releaseWithinBudget() }
    }

    /// Updates the user's switch for an app's notifications. Some versions of the settings do not have it.
    private mutating func takeSettings(_ app: String?, _ event: Event) {
        let settings = (try? JSON(parsing: event.data))?["settings"]
        guard let app, let word = settings?["notifications"]?.string, let allowed = Switch(rawValue: word) else {
            return
        }
        note(app) { $0.notifications = allowed }
    }

    private mutating func install(_ app: String, _ manifest: Manifest) {
        // Before iOS 7 notifications wake no app.
        let hasMode = manifest.backgroundModes.contains { $0 == .remoteNotification || $0 == .newsstandContent }
        let wakes = hasMode && state.profile != .ios6
        guard state.apps[app] != nil else {
            return emit(.appUpdated(.init(app: app, foreground: false, notifications: .on, wakes: wakes)))
        }
        note(app) { $0.wakes = wakes }
    }

    private mutating func uninstall(_ app: String) {
        guard state.apps[app] != nil else { return }
        retire(app, .uninstalled)
        emit(.appRemoved(.init(app: app)))
    }

    /// Delivers held notifications when the user opens an app. Ignores apps without a token.
    private mutating func use(_ app: String) {
        guard state.apps[app]?.registration != nil else { return }
        let now = now
        note(app) {
            $0.foreground = true
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
        emit(
            .appUpdated(
                .init(
                    app: app, foreground: after.foreground, notifications: after.notifications, usedAt: after.usedAt,
                    wakes: after.wakes)))
    }
}
