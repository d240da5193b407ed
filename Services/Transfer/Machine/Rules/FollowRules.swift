import Contracts
import Machines
import OrderedCollections

// Events of `lifecycle`. An event that changes nothing for transfers is dropped.
extension Decision<TransferMachine> {
    mutating func handle(_ event: Event) throws(TransferRefusal) {
        let told: LifecycleEvent
        do throws(ContractError) {
            told = try LifecycleEvent(type: event.type, version: event.version, data: event.data)
        } catch {
            throw .unreadableEvent(error)
        }
        if case .deviceRegistered(let registered) = told { return note(registered.registration) }
        guard state.isRegistered else { return }
        switch told {
        case .deviceRegistered: break
        case .deviceUpdated(let event): note(event.registration)
        case .deviceDeregistered: emit(.deviceRemoved(.init()))
        case .devicePowered(let event): note(event.power)
        case .conditionsChanged(let event): note(event.conditions)
        case .appInstalled(let event):
            guard let app = event.app, state.apps[app] == nil else { return }
            emit(.appUpdated(.init(app: app, state: .notRunning)))
        case .appUninstalled(let event):
            guard let app = event.app, state.apps[app] != nil else { return }
            emit(.appRemoved(.init(app: app)))
        case .appLaunched(let event): note(event.app, event.state, forceQuit: false)
        case .appActivated(let event): note(event.app, event.state, forceQuit: false)
        case .appResigned(let event): note(event.app, event.state)
        case .appBackgrounded(let event): note(event.app, event.state)
        case .appSuspended(let event): note(event.app, event.state)
        case .appWoken(let event):
            note(event.app, event.state)
            beginWake(event)
        case .appTerminated(let event): note(event)
        case .wakeCompleted(let event):
            guard event.reason == .transfer else { return }
            endWake(event.app, event.request, .completed)
        case .wakeRefused(let event):
            guard event.reason == .transfer else { return }
            endWake(event.app, event.request, .refused, event.refusal)
        // The machine does not follow other events, nor future ones.
        default: break
        }
    }

    private mutating func note(_ registration: Registration) {
        guard !state.isRegistered || registration.fleet != state.fleet else { return }
        var noted = TransferEvent.DeviceUpdated()
        noted.fleet = registration.fleet
        emit(.deviceUpdated(noted))
    }

    private mutating func note(_ power: PowerEvent) {
        let isOn = power != .off
        if isOn != state.isPoweredOn {
            var noted = TransferEvent.DeviceUpdated()
            noted.poweredOn = isOn
            emit(.deviceUpdated(noted))
        }
        guard isOn else { return }
        for (app, view) in state.apps where view.forceQuit { emit(.appUpdated(.init(app: app, state: view.state))) }
    }

    private mutating func note(_ report: Conditions) {
        var noted = TransferEvent.DeviceUpdated()
        noted.battery = report.battery.flatMap { $0 == state.battery ? nil : $0 }
        noted.lowPowerMode = report.lowPowerMode.flatMap { $0 == state.isLowPowerMode ? nil : $0 }
        noted.network = report.network.flatMap { $0 == state.network ? nil : $0 }
        if noted != .init() { emit(.deviceUpdated(noted)) }
    }

    private mutating func note(_ app: String?, _ appState: AppState, forceQuit: Bool? = nil) {
        guard let app, let known = state.apps[app] else { return }
        let presence = AppPresence(appState)
        let forceQuit = forceQuit ?? known.forceQuit
        guard known.state != presence || known.forceQuit != forceQuit else { return }
        emit(.appUpdated(.init(app: app, forceQuit: forceQuit, state: presence)))
    }

    /// Transfers outlive the process of their app. A force quit cancels all of them (Apple, "Downloading files in the
    /// background").
    private mutating func note(_ event: LifecycleEvent.AppTerminated) {
        note(event.app, event.state, forceQuit: event.reason == .forceQuit ? true : nil)
        for (id, session) in state.sessions where session.app == event.app {
            if session.wake == .begun { endWake(event.app, id, .terminated) }
            guard event.reason == .forceQuit else { continue }
            for task in session.tasks where task.state != .completed {
                cancel(TaskKey(app: session.app, session: id, task: task.task), .cancelledByForceQuit)
            }
        }
    }
}
