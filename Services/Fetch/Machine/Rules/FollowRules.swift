import Contracts
import Machines
import OrderedCollections
import Timeline

// Events of `lifecycle`. An event that changes nothing for refreshes is dropped.
extension FetchMachine {
    public static let follows: Set<String> = [
        LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type,
        LifecycleEvent.DeviceDeregistered.type, LifecycleEvent.DevicePowered.type,
        LifecycleEvent.ConditionsChanged.type, LifecycleEvent.SettingsChanged.type, LifecycleEvent.AppInstalled.type,
        LifecycleEvent.AppUninstalled.type, LifecycleEvent.AppLaunched.type, LifecycleEvent.AppActivated.type,
        LifecycleEvent.AppBackgrounded.type, LifecycleEvent.AppTerminated.type, LifecycleEvent.AppWoken.type,
        LifecycleEvent.WakeCompleted.type, LifecycleEvent.WakeRefused.type, LifecycleEvent.WakeExpired.type,
    ]
}

extension Decision<FetchMachine> {
    mutating func handle(_ event: Event) throws(FetchRefusal) {
        let told: LifecycleEvent
        do { told = try LifecycleEvent(type: event.type, version: event.version, data: event.data) } catch {
            throw .unreadableEvent(error)
        }
        if case .deviceRegistered(let event) = told { return describe(event.registration) }
        guard state.profile != nil else { return }
        switch told {
        case .deviceUpdated(let event): describe(event.registration)
        case .deviceDeregistered: emit(.deviceRemoved(.init()))
        case .devicePowered(let event): power(event.power)
        case .conditionsChanged(let event): change(event.conditions)
        case .settingsChanged(let event): set(event.app, event.settings)
        case .appInstalled(let event): install(event)
        case .appUninstalled(let event): forget(event.app)
        case .appLaunched(let event): open(event.app)
        case .appActivated(let event): open(event.app)
        case .appBackgrounded(let event): leave(event.app)
        case .appTerminated(let event): end(event)
        case .appWoken(let event): start(event)
        case .wakeCompleted(let event): complete(event)
        case .wakeRefused(let event): refuse(event)
        case .wakeExpired(let event): expire(event)
        // The machine does not follow other events.
        default: break
        }
    }

    private mutating func describe(_ registration: Registration) {
        let described = FetchEvent.DeviceUpdated(
            fleet: registration.fleet, profile: registration.profile, timeZone: registration.timeZone)
        let known = state.profile.map {
            FetchEvent.DeviceUpdated(fleet: state.fleet, profile: $0, timeZone: state.timeZone)
        }
        if described != known { emit(.deviceUpdated(described)) }
    }

    /// A reboot clears force quits.
    private mutating func power(_ event: PowerEvent) {
        let isOn = event != .off
        if state.isPoweredOn != isOn { emit(.conditionsChanged(.init(poweredOn: isOn))) }
        guard isOn else { return }
        for (app, record) in state.apps where record.forceQuit { emit(.appUpdated(.init(app: app, forceQuit: false))) }
    }

    private mutating func change(_ report: Conditions) {
        let old = state.conditions
        var change = Conditions()
        if let new = report.battery, new.charging != old.battery?.charging || isLow(new) != isLow(old.battery) {
            change.battery = new
        }
        if let new = report.lowPowerMode, new != old.lowPowerMode { change.lowPowerMode = new }
        if var new = report.network {
            // The shape of the network matters only to transfers.
            new.shape = nil
            if new != old.network { change.network = new }
        }
        if let new = report.locked, new != old.locked { change.locked = new }
        if let new = report.thermal, new != old.thermal { change.thermal = new }
        if change != Conditions() { emit(.conditionsChanged(.init(conditions: change))) }
    }

    private func isLow(_ battery: Battery?) -> Bool { battery.map { $0.level < policy.batteryLimit } ?? false }

    private mutating func set(_ app: String?, _ settings: Settings) {
        let backgroundRefresh = settings.backgroundRefresh
        guard let app else {
            let restricted = settings.restrictions?.backgroundRefresh ?? state.isBackgroundRefreshRestricted
            let change = FetchEvent.ConditionsChanged(
                backgroundRefresh: backgroundRefresh == state.backgroundRefresh ? nil : backgroundRefresh,
                backgroundRefreshRestricted: restricted == state.isBackgroundRefreshRestricted ? nil : restricted)
            if change != FetchEvent.ConditionsChanged() { emit(.conditionsChanged(change)) }
            return
        }
        guard let record = state.apps[app], record.backgroundRefresh != backgroundRefresh else { return }
        emit(.appUpdated(.init(app: app, backgroundRefresh: backgroundRefresh)))
    }

    private mutating func install(_ event: LifecycleEvent.AppInstalled) {
        guard let app = event.app else { return }
        let known = state.apps[app]
        let fetches = event.manifest.backgroundModes.contains(.fetch)
        let processes = event.manifest.backgroundModes.contains(.processing)
        let permitted = event.manifest.permittedTaskIdentifiers
        let change = FetchEvent.AppUpdated(
            app: app, declaresFetch: fetches == known?.declaresFetch ? nil : fetches,
            declaresProcessing: processes == (known?.declaresProcessing ?? false) ? nil : processes,
            permittedTaskIdentifiers: permitted == (known?.permittedTaskIdentifiers ?? []) ? nil : permitted)
        if change != FetchEvent.AppUpdated(app: app) { emit(.appUpdated(change)) }
    }

    /// Ends a refresh and a task in progress and removes the app.
    private mutating func forget(_ app: String?) {
        guard let app, state.apps[app] != nil else { return }
        record(app, .failed)
        recordTask(app, .failed)
        emit(.appRemoved(.init(app: app)))
    }

    /// Records an opening. An app that returns from an interruption is still in the foreground, so that is no opening.
    private mutating func open(_ app: String?) {
        guard let app, let record = state.apps[app], !record.inForeground else { return }
        emit(
            .appOpened(
                .init(
                    app: app, contentAgeSeconds: record.newDataAt.map { now - $0 },
                    hourOfWeek: state.hourOfWeek(now, policy))))
    }

    private mutating func leave(_ app: String?) {
        guard let app, state.apps[app]?.inForeground == true else { return }
        emit(.appUpdated(.init(app: app, inForeground: false)))
    }

    /// Ends what was started in the process. A due refresh still waits for its answer.
    private mutating func end(_ event: LifecycleEvent.AppTerminated) {
        guard let app = event.app, let known = state.apps[app] else { return }
        let forceQuit = event.reason == .forceQuit && !known.forceQuit
        let leaves = event.from != .notRunning && known.inForeground
        if forceQuit || leaves {
            emit(
                .appUpdated(
                    .init(app: app, forceQuit: forceQuit ? true : nil, inForeground: leaves ? false : nil)))
        }
        guard event.from != .notRunning else { return }
        if known.running?.startedAt != nil { record(app, event.reason == .fetchTimeout ? .timedOut : .failed) }
        if known.runningTask?.startedAt != nil {
            recordTask(app, event.reason == .taskRequestTimeout ? .timedOut : .failed)
        }
    }

    private mutating func start(_ event: LifecycleEvent.AppWoken) {
        if let (app, running) = runningTask(event.app, event.reason, event.request) {
            emit(
                .taskStarted(
                    .init(
                        answerBy: event.deadline + policy.endLimit, app: app, identifier: running.submission.identifier,
                        request: running.request, wake: event.wake)))
        }
        guard let app = event.app, event.reason == .fetch, isRunning(event.request, of: app) else { return }
        emit(
            .refreshStarted(
                .init(
                    answerBy: event.deadline + policy.endLimit, app: app, fetch: event.request ?? "", wake: event.wake))
        )
    }

    private mutating func complete(_ event: LifecycleEvent.WakeCompleted) {
        if let (app, running) = runningTask(event.app, event.reason, event.request) {
            recordTask(
                app, event.success == true ? .succeeded : running.stopped == nil ? .failed : .stopped,
                bytesReceived: event.bytesReceived)
        }
        guard let app = event.app, state.apps[app] != nil else { return }
        guard event.reason == .fetch else {
            if event.result == .newData, event.bytesReceived != 0 {
                emit(.appUpdated(.init(app: app, hasNewData: true)))
            }
            return
        }
        guard isRunning(event.request, of: app) else { return }
        let result: FetchResult =
            switch event.result {
            case .newData: .newData
            case .noData: .noData
            case .failed, nil: .failed
            }
        record(app, result, bytesReceived: event.bytesReceived)
    }

    private mutating func refuse(_ event: LifecycleEvent.WakeRefused) {
        if let (app, _) = runningTask(event.app, event.reason, event.request) {
            recordTask(app, .refused, refusal: event.refusal.rawValue)
        }
        guard let app = event.app, event.reason == .fetch, isRunning(event.request, of: app) else { return }
        record(app, .refused, refusal: event.refusal.rawValue)
    }

    /// Ends a wake whose time is over although the app continues.
    private mutating func expire(_ event: LifecycleEvent.WakeExpired) {
        guard let app = event.app else { return }
        if isRunning(event.request, of: app) { record(app, .timedOut) }
        if let (app, _) = runningTask(app, .task, event.request) { recordTask(app, .timedOut) }
    }

    /// Returns the run of a task request that a wake belongs to.
    private func runningTask(
        _ app: String?, _ reason: WakeReason, _ request: String?
    ) -> (app: String, running: RunningTask)? {
        guard let app, reason == .task, let running = state.apps[app]?.runningTask, running.request == request else {
            return nil
        }
        return (app, running)
    }

    private func isRunning(_ fetch: String?, of app: String) -> Bool {
        fetch != nil && state.apps[app]?.running?.fetch == fetch
    }
}
