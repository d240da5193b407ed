import Contracts
import Machines
import OrderedCollections

// Facts of `lifecycle`. A fact that changes nothing for transfers causes no event.
extension TransferMachine {
    public static let follows = DeviceFact.types.union([
        LifecycleEvent.AppResigned.type, LifecycleEvent.AppSuspended.type, LifecycleEvent.DeviceTakenOver.type,
        LifecycleEvent.DeviceGivenBack.type,
    ])
}

extension Decision<TransferMachine> {
    mutating func handle(_ event: Event) throws(TransferRefusal) {
        switch try DeviceFact.read(event, isRegistered: state.isRegistered, orThrow: TransferRefusal.unreadableEvent) {
        case .registration(let registration): note(registration)
        case .client(let isThere):
            if isThere != state.hasClient { emit(.deviceUpdated(.init(hasClient: isThere))) }
        case .removal: emit(.deviceRemoved(.init()))
        case .power(let isOn): power(isOn: isOn)
        case .conditions(let report): note(report)
        case .installation(_, let app):
            if state.apps[app] == nil { emit(.appUpdated(.init(app: app, state: .notRunning))) }
        case .uninstallation(let app): if state.apps[app] != nil { emit(.appRemoved(.init(app: app))) }
        case .opening(let appState, let app): note(app, appState, forceQuit: false)
        case .transition(let appState, let app): note(app, appState)
        case .wake(let event, let app):
            note(app, event.state)
            beginWake(app, event)
        case .termination(let event, let app): end(app, event)
        case .wakeCompletion(let event, let app):
            if event.reason == .transfer { endWake(app, event.request, .completed) }
        case .wakeRefusal(let event, let app):
            if event.reason == .transfer { endWake(app, event.request, .refused, event.refusal) }
        case .erasure, .settings, .wakeExpiration, nil: return
        }
    }

    private mutating func note(_ registration: Registration) {
        let isNew = !state.isRegistered || registration.fleet != state.fleet
        guard isNew || registration.profile != state.profile || registration.simulate != state.simulate else { return }
        emit(
            .deviceUpdated(
                .init(fleet: registration.fleet, profile: registration.profile, simulate: registration.simulate)))
    }

    private mutating func power(isOn: Bool) {
        if isOn != state.isPoweredOn { emit(.deviceUpdated(.init(poweredOn: isOn))) }
        guard isOn else {
            for (key, session) in state.sessions where session.isOfExtension {
                disconnectDataTasks(of: key)
                emit(.sessionDetached(.init(app: key.app, session: key.session)))
            }
            return
        }
        for (app, view) in state.apps where view.forceQuit { emit(.appUpdated(.init(app: app, state: view.state))) }
    }

    private mutating func note(_ report: Conditions) {
        let noted = TransferEvent.DeviceUpdated(
            battery: report.battery?.ifChanged(from: state.battery),
            lowPowerMode: report.lowPowerMode?.ifChanged(from: state.isLowPowerMode),
            network: report.network?.ifChanged(from: state.network))
        if noted.network != nil { reportMovedBytes() }
        if noted != .init() { emit(.deviceUpdated(noted)) }
    }

    private mutating func note(_ app: String, _ appState: AppState, forceQuit: Bool? = nil) {
        guard let known = state.apps[app] else { return }
        let presence = AppPresence(appState)
        let forceQuit = forceQuit ?? known.forceQuit
        guard known.state != presence || known.forceQuit != forceQuit else { return }
        if !presence.isRunning {
            for (id, session) in known.sessions where !session.isOfExtension {
                disconnectDataTasks(of: SessionKey(app: app, session: id))
            }
        }
        emit(.appUpdated(.init(app: app, forceQuit: forceQuit, state: presence)))
    }

    /// Transfers outlive the process of their app. A force quit cancels all of them (Apple, "Downloading files in the
    /// background").
    private mutating func end(_ app: String, _ event: LifecycleEvent.AppTerminated) {
        note(app, event.state, forceQuit: event.reason == .forceQuit ? true : nil)
        for (id, session) in state.apps[app]?.sessions ?? [:] {
            let key = SessionKey(app: app, session: id)
            if session.wake == .begun { endWake(app, id, .terminated) }
            guard event.reason == .forceQuit else { continue }
            for task in session.tasks where task.state != .completed {
                cancel(key.task(task.task), cancelled(.userForceQuitApplication))
            }
        }
    }
}
