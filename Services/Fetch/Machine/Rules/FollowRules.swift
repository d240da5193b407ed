import Contracts
import Machines
import OrderedCollections
import Timeline

// Facts of `lifecycle`. A fact that changes nothing for refreshes causes no event.
extension FetchMachine {
    public static let follows = DeviceFact.types.union([
        LifecycleEvent.AppSuspended.type, LifecycleEvent.SettingsChanged.type, LifecycleEvent.WakeExpired.type,
    ])
}

extension Decision<FetchMachine> {
    mutating func handle(_ event: Event) throws(FetchRefusal) {
        switch try DeviceFact.read(event, isRegistered: state.profile != nil, orThrow: FetchRefusal.unreadableEvent) {
        case .registration(let registration): describe(registration)
        case .removal: emit(.deviceRemoved(.init()))
        case .power(let isOn): power(isOn: isOn)
        case .conditions(let report): change(report)
        case .settings(let settings, let app): set(app, settings)
        case .installation(let manifest, let app): install(app, manifest)
        case .uninstallation(let app): forget(app)
        case .opening(_, let app): open(app)
        case .transition(let appState, let app): note(app, AppPresence(appState))
        case .termination(let event, let app): end(app, event)
        case .wake(let event, let app): start(app, event)
        case .wakeCompletion(let event, let app): complete(app, event)
        case .wakeRefusal(let event, let app): refuse(app, event)
        case .wakeExpiration(let event, let app): expire(app, event)
        case .erasure, .client, nil: return
        }
    }

    private mutating func describe(_ registration: Registration) {
        guard
            state.profile != registration.profile || state.fleet != registration.fleet
                || state.timeZone != registration.timeZone
        else { return }
        emit(
            .deviceUpdated(
                .init(fleet: registration.fleet, profile: registration.profile, timeZone: registration.timeZone)))
    }

    /// A reboot clears force quits.
    private mutating func power(isOn: Bool) {
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
        change.lowPowerMode = report.lowPowerMode?.ifChanged(from: old.lowPowerMode)
        // The shape of the network matters only to transfers.
        change.network = report.network?.withoutShape.ifChanged(from: old.network)
        change.locked = report.locked?.ifChanged(from: old.locked)
        change.thermal = report.thermal?.ifChanged(from: old.thermal)
        if change != Conditions() { emit(.conditionsChanged(.init(conditions: change))) }
    }

    private func isLow(_ battery: Battery?) -> Bool { battery.map { $0.level < policy.batteryLimit } ?? false }

    private mutating func set(_ app: String?, _ settings: Settings) {
        guard let app else {
            let restricted = settings.restrictions?.backgroundRefresh
            let change = FetchEvent.ConditionsChanged(
                backgroundRefresh: settings.backgroundRefresh.ifChanged(from: state.backgroundRefresh),
                backgroundRefreshRestricted: restricted?.ifChanged(from: state.isBackgroundRefreshRestricted))
            if change != FetchEvent.ConditionsChanged() { emit(.conditionsChanged(change)) }
            return
        }
        guard let record = state.apps[app], record.backgroundRefresh != settings.backgroundRefresh else { return }
        emit(.appUpdated(.init(app: app, backgroundRefresh: settings.backgroundRefresh)))
    }

    private mutating func install(_ app: String, _ manifest: Manifest) {
        let known = state.apps[app]
        let modes = manifest.backgroundModes
        let permitted = manifest.permittedTaskIdentifiers
        let handlers = manifest.launchHandlers
        let missing = handlers.map { handlers in permitted.filter { !handlers.contains($0) } } ?? []
        let change = FetchEvent.AppUpdated(
            app: app, declaresFetch: modes.contains(.fetch).ifChanged(from: known?.declaresFetch),
            declaresProcessing: modes.contains(.processing).ifChanged(from: known?.declaresProcessing ?? false),
            isEntitledToBackgroundGPU: manifest.entitlements.contains(.backgroundGPU)
                .ifChanged(from: known?.isEntitledToBackgroundGPU ?? false),
            isEntitledToHealthResearch: manifest.entitlements.contains(.backgroundHealthResearch)
                .ifChanged(from: known?.isEntitledToHealthResearch ?? false),
            missingLaunchHandlers: missing.ifChanged(from: known?.missingLaunchHandlers ?? []),
            permittedTaskIdentifiers: permitted.ifChanged(from: known?.permittedTaskIdentifiers ?? []))
        if change != FetchEvent.AppUpdated(app: app) { emit(.appUpdated(change)) }
    }

    /// Ends a refresh and a task in progress and removes the app.
    private mutating func forget(_ app: String) {
        guard state.apps[app] != nil else { return }
        record(app, .failed)
        recordTask(app, .failed)
        endContinuedTasks(app, .failed)
        emit(.appRemoved(.init(app: app)))
    }

    /// Records an opening. An app that returns from an interruption is still in the foreground, so that is no opening.
    private mutating func open(_ app: String) {
        guard let record = state.apps[app], !record.inForeground else { return }
        emit(
            .appOpened(
                .init(
                    app: app, contentAgeSeconds: record.newDataAt.map { now - $0 },
                    hourOfWeek: state.hourOfWeek(now, policy))))
    }

    private mutating func note(_ app: String, _ appState: AppPresence) {
        guard let record = state.apps[app], record.state != appState else { return }
        emit(.appUpdated(.init(app: app, state: appState)))
    }

    /// Ends the work that was started in the process. A due refresh still waits for its answer.
    private mutating func end(_ app: String, _ event: LifecycleEvent.AppTerminated) {
        guard let known = state.apps[app] else { return }
        let forceQuit = event.reason == .forceQuit && !known.forceQuit
        let ends = event.from != .notRunning && known.state != .notRunning
        if forceQuit || ends {
            emit(
                .appUpdated(
                    .init(app: app, forceQuit: forceQuit ? true : nil, state: ends ? .notRunning : nil)))
        }
        guard event.from != .notRunning else { return }
        if known.running?.startedAt != nil { record(app, event.reason == .fetchTimeout ? .timedOut : .failed) }
        if known.runningTask?.startedAt != nil {
            recordTask(app, event.reason == .taskRequestTimeout ? .timedOut : .failed)
        }
        endContinuedTasks(app, event.reason == .taskRequestTimeout ? .timedOut : .failed)
    }

    private mutating func start(_ app: String, _ event: LifecycleEvent.AppWoken) {
        if let running = runningTask(app, event.reason, event.request) {
            emit(
                .taskStarted(
                    .init(
                        answerBy: event.deadline + policy.endLimit, app: app, identifier: running.submission.identifier,
                        request: running.request, wake: event.wake)))
        }
        if let (identifier, run) = continuedRun(app, event.reason, event.request) {
            emit(.taskStarted(.init(app: app, identifier: identifier, request: run.request, wake: event.wake)))
        }
        if event.reason == .fetch, isRunning(event.request, of: app) {
            emit(
                .refreshStarted(
                    .init(
                        answerBy: event.deadline + policy.endLimit, app: app, fetch: event.request ?? "",
                        wake: event.wake)))
        }
        note(app, AppPresence(event.state))
    }

    private mutating func complete(_ app: String, _ event: LifecycleEvent.WakeCompleted) {
        if let running = runningTask(app, event.reason, event.request) {
            recordTask(
                app, event.success == true ? .succeeded : running.stopped == nil ? .failed : .stopped,
                bytesReceived: event.bytesReceived)
        }
        if let (identifier, run) = continuedRun(app, event.reason, event.request) {
            recordContinuedTask(
                app, identifier, event.success == true ? .succeeded : run.stopped == nil ? .failed : .stopped,
                bytesReceived: event.bytesReceived)
        }
        guard state.apps[app] != nil else { return }
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

    private mutating func refuse(_ app: String, _ event: LifecycleEvent.WakeRefused) {
        if runningTask(app, event.reason, event.request) != nil {
            recordTask(app, .refused, refusal: event.refusal.rawValue)
        }
        if let (identifier, _) = continuedRun(app, event.reason, event.request) {
            recordContinuedTask(app, identifier, .refused, refusal: event.refusal.rawValue)
        }
        guard event.reason == .fetch, isRunning(event.request, of: app) else { return }
        record(app, .refused, refusal: event.refusal.rawValue)
    }

    /// Ends a wake whose time is over although the app continues.
    private mutating func expire(_ app: String, _ event: LifecycleEvent.WakeExpired) {
        if isRunning(event.request, of: app) { record(app, .timedOut) }
        if runningTask(app, .task, event.request) != nil { recordTask(app, .timedOut) }
    }

    /// Returns the run of a task request that a wake belongs to.
    private func runningTask(_ app: String, _ reason: WakeReason, _ request: String?) -> RunningTask? {
        guard reason == .task, let running = state.apps[app]?.runningTask, running.request == request else {
            return nil
        }
        return running
    }

    private func isRunning(_ fetch: String?, of app: String) -> Bool {
        fetch != nil && state.apps[app]?.running?.fetch == fetch
    }
}

extension Network {
    fileprivate var withoutShape: Network {
        var network = self
        network.shape = nil
        return network
    }
}
