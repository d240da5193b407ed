import Contracts
import Machines
import OrderedCollections
import Timeline

// What `lifecycle` tells: of it, only what changes something here becomes an event.
extension FetchMachine {
    public static let follows: Set<String> = [
        LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type,
        LifecycleEvent.DeviceDeregistered.type, LifecycleEvent.DevicePowered.type,
        LifecycleEvent.ConditionsChanged.type, LifecycleEvent.SettingsChanged.type, LifecycleEvent.AppInstalled.type,
        LifecycleEvent.AppUninstalled.type, LifecycleEvent.AppLaunched.type, LifecycleEvent.AppActivated.type,
        LifecycleEvent.AppBackgrounded.type, LifecycleEvent.AppTerminated.type, LifecycleEvent.AppWoken.type,
        LifecycleEvent.WakeCompleted.type, LifecycleEvent.WakeRefused.type,
    ]
}

extension Decision<FetchMachine> {
    mutating func follow(_ event: Event) throws(FetchRefusal) {
        let told: LifecycleEvent
        do { told = try LifecycleEvent(type: event.type, version: event.version, data: event.data) } catch {
            throw .unreadableEvent(error)
        }
        if case .deviceRegistered(let event) = told { return describe(event.registration) }
        guard state.profile != nil else { return }
        switch told {
        case .deviceUpdated(let event): describe(event.registration)
        case .deviceDeregistered: emit(.deviceForgotten(.init()))
        case .devicePowered(let event): power(event.power)
        case .conditionsChanged(let event): change(event.conditions)
        case .settingsChanged(let event): set(event.app, event.settings.backgroundRefresh)
        case .appInstalled(let event): install(event)
        case .appUninstalled(let event): forget(event.app)
        case .appLaunched(let event): open(event.app)
        case .appActivated(let event): open(event.app)
        case .appBackgrounded(let event): leave(event.app)
        case .appTerminated(let event): end(event)
        case .appWoken(let event): start(event)
        case .wakeCompleted(let event): complete(event)
        case .wakeRefused(let event): refuse(event)
        // Those that are not followed.
        default: break
        }
    }

    private mutating func describe(_ registration: Registration) {
        let described = FetchEvent.DeviceDescribed(
            profile: registration.profile, fleet: registration.fleet, timeZone: registration.timeZone)
        let known = state.profile.map {
            FetchEvent.DeviceDescribed(profile: $0, fleet: state.fleet, timeZone: state.timeZone)
        }
        if described != known { emit(.deviceDescribed(described)) }
    }

    /// Coming up clears what the user ended in the switcher.
    private mutating func power(_ event: PowerEvent) {
        let isOn = event != .off
        if state.isPoweredOn != isOn { emit(.conditionsChanged(.init(poweredOn: isOn))) }
        guard isOn else { return }
        for (app, record) in state.apps where record.forceQuit { emit(.appChanged(.init(app: app, forceQuit: false))) }
    }

    private mutating func change(_ report: Conditions) {
        let old = state.conditions
        var change = Conditions()
        if let new = report.battery, new.charging != old.battery?.charging || isLow(new) != isLow(old.battery) {
            change.battery = new
        }
        if let new = report.lowPowerMode, new != old.lowPowerMode { change.lowPowerMode = new }
        if var new = report.network {
            // What transfers are shaped like does not matter here.
            new.shape = nil
            if new != old.network { change.network = new }
        }
        if let new = report.locked, new != old.locked { change.locked = new }
        if let new = report.thermal, new != old.thermal { change.thermal = new }
        if change != Conditions() { emit(.conditionsChanged(.init(conditions: change))) }
    }

    private func isLow(_ battery: Battery?) -> Bool { battery.map { $0.level < policy.batteryLimit } ?? false }

    private mutating func set(_ app: String?, _ backgroundRefresh: Switch) {
        guard let app else {
            guard state.backgroundRefresh != backgroundRefresh else { return }
            return emit(.conditionsChanged(.init(backgroundRefresh: backgroundRefresh)))
        }
        guard let record = state.apps[app], record.backgroundRefresh != backgroundRefresh else { return }
        emit(.appChanged(.init(app: app, backgroundRefresh: backgroundRefresh)))
    }

    private mutating func install(_ event: LifecycleEvent.AppInstalled) {
        guard let app = event.app else { return }
        let declares = event.manifest.backgroundModes.contains(.fetch)
        guard state.apps[app]?.declaresFetch != declares else { return }
        emit(.appChanged(.init(app: app, declaresFetch: declares)))
    }

    /// A refresh under way ends with the app.
    private mutating func forget(_ app: String?) {
        guard let app, state.apps[app] != nil else { return }
        record(app, .failed)
        emit(.appForgotten(.init(app: app)))
    }

    /// An app that comes back from an interruption was not opened: it was on screen all the time.
    private mutating func open(_ app: String?) {
        guard let app, let record = state.apps[app], !record.inForeground else { return }
        emit(
            .appOpened(
                .init(
                    app: app, hourOfWeek: state.hourOfWeek(now, policy),
                    contentAgeSeconds: record.newDataAt.map { now - $0 })))
    }

    private mutating func leave(_ app: String?) {
        guard let app, state.apps[app]?.inForeground == true else { return }
        emit(.appChanged(.init(app: app, inForeground: false)))
    }

    /// With its process ends a refresh that was started in it; one that is still due has its answer to come.
    private mutating func end(_ event: LifecycleEvent.AppTerminated) {
        guard let app = event.app, let known = state.apps[app] else { return }
        let forceQuit = event.reason == .forceQuit && !known.forceQuit
        let leaves = event.from != .notRunning && known.inForeground
        if forceQuit || leaves {
            emit(
                .appChanged(
                    .init(app: app, forceQuit: forceQuit ? true : nil, inForeground: leaves ? false : nil)))
        }
        guard event.from != .notRunning, known.running?.startedAt != nil else { return }
        record(app, event.reason == .fetchTimeout ? .timedOut : .failed)
    }

    private mutating func start(_ event: LifecycleEvent.AppWoken) {
        guard let app = event.app, event.reason == .fetch, isRunning(event.request, of: app) else { return }
        emit(
            .refreshStarted(
                .init(
                    app: app, fetch: event.request ?? "", wake: event.wake,
                    answerBy: event.deadline + policy.endLimit)))
    }

    private mutating func complete(_ event: LifecycleEvent.WakeCompleted) {
        guard let app = event.app, event.reason == .fetch, isRunning(event.request, of: app) else { return }
        switch event.result {
        case .newData: record(app, .newData)
        case .noData: record(app, .noData)
        case .failed, nil: record(app, .failed)
        }
    }

    private mutating func refuse(_ event: LifecycleEvent.WakeRefused) {
        guard let app = event.app, event.reason == .fetch, isRunning(event.request, of: app) else { return }
        record(app, .refused, refusal: event.refusal.rawValue)
    }

    private func isRunning(_ fetch: String?, of app: String) -> Bool {
        fetch != nil && state.apps[app]?.running?.fetch == fetch
    }
}
