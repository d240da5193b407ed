public import Contracts
public import Machines
public import OrderedCollections
import Records
public import Timeline

/// A device with all its apps: at most one app on screen, and the order of the switcher.
///
/// The diagram has the states of an app. A label is the cause in the event, else the event. `timeout` means all
/// missed limits, `violation` for all forbidden actions. An app in any state is removed when it is uninstalled or its
/// device is deregistered. While an app runs `willTerminate`, it is in `background`, with cause `forceQuit` or
/// `exitedOnSuspend`.
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> notRunning: installed
///     notRunning --> notRunning: prewarmed
///     notRunning --> inactive: launched
///     notRunning --> active: launched
///     notRunning --> background: woken
///     inactive --> active: activated
///     active --> inactive: interrupt, switcher
///     inactive --> background: home, otherApp, locked, swiped, callAccepted, forceQuit, exitedOnSuspend
///     active --> background: home, otherApp, locked, swiped, forceQuit, exitedOnSuspend
///     background --> active: activated
///     suspended --> active: activated
///     suspended --> background: woken
///     background --> suspended: suspended
///     inactive --> notRunning: crash, exit, timeout, violation
///     inactive --> notRunning: forceQuit, exitedOnSuspend, memoryPressure, powerOff, updated, uninstalled
///     active --> notRunning: crash, exit, violation
///     active --> notRunning: forceQuit, exitedOnSuspend, memoryPressure, powerOff, updated, uninstalled
///     background --> notRunning: crash, exit, timeout, violation
///     background --> notRunning: forceQuit, exitedOnSuspend, memoryPressure, thermal, powerOff, updated, uninstalled
///     suspended --> notRunning: forceQuit, memoryPressure, powerOff, updated, uninstalled
/// ```
public struct LifecycleMachine: Machine {
    public typealias Command = LifecycleCommand
    public typealias OwnEvent = LifecycleEvent
    public typealias Refusal = LifecycleRefusal
    public typealias Policy = LifecyclePolicy

    /// The registration; nil for an unregistered device.
    public var registration: Registration?
    public var isPoweredOn = true
    /// Whether the device is awake. A locked device sleeps unless something keeps it awake.
    public var isAwake = true
    /// The earliest time at which a locked device may sleep.
    public var awakeUntil: Instant?
    public var conditions = Conditions.atRegistration
    /// The user's Background App Refresh setting of the device.
    public var backgroundRefresh = Switch.on
    public var restrictions = Restrictions()
    /// The stream of orders of the client that answers for a built-in device; nil without one.
    public var client: String?
    /// The local times of the scheduled summary of notifications; nil for ``SummaryTimes/usual``.
    public var summaryTimes: [String]?
    /// The installed apps by name.
    public var apps: OrderedDictionary<String, InstalledApp> = [:]
    /// The app switcher, most recent first.
    public var switcher: [String] = []

    public static let version = 1
    /// Devices must send completions and ends of tasks within limits, so the machine has limits of its own.
    public static let ownsLimits = true
    public static let follows: Set<String> = [
        FetchEvent.RefreshDue.type, FetchEvent.TaskDue.type, FetchEvent.TaskStopped.type,
        PushEvent.WakeRequested.type, PushEvent.NotificationOpened.type, PushEvent.NotificationResponded.type,
        TransferEvent.WakeRequested.type,
    ]

    /// The app on screen; nil if there is none.
    public var foreground: String? {
        let apps = known
        return apps.indices.first { apps[$0].state.isForeground }.map { self.apps.keys[$0] }
    }

    /// The apps in their order, for access to single fields by index. A loop over the apps would copy each large value.
    var known: [InstalledApp] { apps.values.elements }

    /// Returns the state of an app; `notRunning` if it is not installed.
    public func appState(_ app: String) -> AppState {
        apps.index(forKey: app).map { known[$0].state } ?? .notRunning
    }

    /// Returns the next change of an app by time alone. HealthKit delivers nothing while the device is off.
    func nextDeadline(of app: InstalledApp) -> Instant? {
        [app.nextDeadline, isPoweredOn ? app.healthDue : nil].compactMap(\.self).min()
    }

    public var nextDeadline: Instant? {
        let apps = known
        var next = [sleepDue, nextAnswer].compactMap(\.self).min()
        for index in apps.indices where apps[index].mayHaveDeadline {
            guard let moment = nextDeadline(of: apps[index]) else { continue }
            next = next.map { min($0, moment) } ?? moment
        }
        return next
    }

    public static func decide(
        _ input: Input<LifecycleCommand>, _ decision: inout Decision<LifecycleMachine>
    ) throws(LifecycleRefusal) {
        switch input {
        case .command(let command): try decision.handle(command)
        case .event(let event): try decision.handle(event)
        case .deadline: decision.enforceLimits()
        }
        decision.answerAsDevice()
        decision.deliverMonitorEvents()
        decision.deliverHealth()
        decision.watchSleep()
        decision.giveNotices()
        if decision.answerExpirations() { decision.watchSleep() }
    }

    public static func note(_ outage: Outage, _ decision: inout Decision<LifecycleMachine>) {
        decision.extendLimits(by: outage)
    }
}

extension Decision<LifecycleMachine> {
    fileprivate mutating func handle(_ command: LifecycleCommand) throws(LifecycleRefusal) {
        if case .register(let registration) = command { return register(registration) }
        if case .setUp(let setup) = command { return try setUp(setup) }
        // The history outlives the registration.
        if case .erase = command { return erase() }
        guard state.registration != nil else { throw .deviceNotRegistered }
        switch command {
        case .register, .setUp, .erase: return
        case .deregister: emit(.deviceDeregistered(.init()))
        case .revokeTokens: emit(.deviceRevoked(.init()))
        case .takeOver(let client): takeOver(client)
        case .giveBack(let client): giveBack(client)
        case .updateConditions(let report): try updateConditions(report)
        case .power(let event): power(event)
        case .interrupt(let kind): try interrupt(kind)
        case .install(let app, let manifest): try install(app, manifest)
        case .uninstall(let app): try uninstall(app)
        case .transition(let app, let event): try transition(app, event)
        case .completeCallback(let app, let callback, let completion):
            try completeCallback(app, callback, completion)
        case .beginTask(let app, let request): try beginTask(app, request)
        case .endTask(let app, let task): try endTask(app, task)
        case .completeWake(let app, let wake, let completion): try completeWake(app, wake, completion)
        case .reportProgress(let app, let wake, let progress): try reportProgress(app, wake, progress)
        case .startActivity(let app, let kind, let request): try startActivity(app, kind, request)
        case .stopActivity(let app, let kind): try stopActivity(app, kind)
        case .act(let app, let report): try act(app, report)
        case .monitorRegion(let app, let identifier, let region): try monitor(app, identifier, region)
        case .stopMonitoringRegion(let app, let identifier): try stopMonitoring(app, identifier)
        case .monitorBeaconRegion(let app, let identifier, let region): try monitor(app, identifier, region)
        case .openMonitor(let app, let name): try openMonitor(app, name)
        case .addMonitorCondition(let app, let name, let identifier, let condition):
            try addCondition(app, name, identifier, condition)
        case .removeMonitorCondition(let app, let name, let identifier): try removeCondition(app, name, identifier)
        case .monitorSignificantChanges(let app): try monitorSignificantChanges(app)
        case .stopMonitoringSignificantChanges(let app): try stopMonitoringSignificantChanges(app)
        case .monitorVisits(let app): try monitorVisits(app)
        case .stopMonitoringVisits(let app): try stopMonitoringVisits(app)
        case .visit(let kind): try visit(kind)
        case .startBluetooth(let app, let role, let manager): try startBluetooth(app, role, manager)
        case .stopBluetooth(let app, let role): try stopBluetooth(app, role)
        case .bluetooth(let app, let event): try bluetooth(app, event)
        case .enableHealthDelivery(let app, let type, let delivery): try enableHealthDelivery(app, type, delivery)
        case .disableHealthDelivery(let app, let type): try disableHealthDelivery(app, type)
        case .saveHealthSample(let type): try saveHealthSample(type)
        case .requestAuthorization(let app, let request): try requestAuthorization(app, request)
        case .changeSettings(let app, let settings): try changeSettings(app, settings)
        case .changeDeviceSettings(let settings): try changeSettings(settings)
        }
    }

    fileprivate mutating func handle(_ event: Event) throws(LifecycleRefusal) {
        guard state.registration != nil else { return }
        do throws(ContractError) {
            switch event.type {
            case FetchEvent.RefreshDue.type, FetchEvent.TaskDue.type, FetchEvent.TaskStopped.type:
                handle(try FetchEvent(event))
            case PushEvent.WakeRequested.type:
                guard case .wakeRequested(let asked) = try PushEvent(event), let app = asked.app else { return }
                let silent = state.apps[app].map { state.silentPushKind(of: $0, profile) } ?? .push
                let kind: WakeKind =
                    switch asked.pushType {
                    case .voip: .voipPush
                    case .pushtotalk: .pushToTalk
                    default: silent
                    }
                wake(app, for: kind, request: asked.notification, payload: asked.payload)
            case PushEvent.NotificationOpened.type:
                guard case .notificationOpened(let opened) = try PushEvent(event), let app = opened.app else { return }
                openByNotification(app, opened)
            case PushEvent.NotificationResponded.type:
                guard case .notificationResponded(let response) = try PushEvent(event) else { return }
                respond(response)
            case TransferEvent.WakeRequested.type:
                guard case .wakeRequested(let asked) = try TransferEvent(event), let app = asked.app else { return }
                wake(app, for: .transfer, request: asked.session)
            default: return
            }
        } catch {
            throw .unreadableEvent(error)
        }
    }

    private mutating func handle(_ event: FetchEvent) {
        switch event {
        case .refreshDue(let due):
            guard let app = due.app else { return }
            wake(app, for: .fetch, request: due.fetch)
        case .taskDue(let due):
            guard let app = due.app else { return }
            wake(
                app, for: WakeKind(due.kind), request: due.request,
                payload: ["identifier": .string(due.identifier)], expirationHandler: due.expirationHandler)
        case .taskStopped(let stopped):
            guard let app = stopped.app else { return }
            stopTask(app, stopped.request)
        case .deviceUpdated, .deviceRemoved, .conditionsChanged, .appUpdated, .appOpened, .appRemoved,
            .intervalSet, .refreshScheduled, .refreshStarted, .refreshRecorded, .taskSubmitted, .taskCancelled,
            .taskScheduled, .taskStarted, .taskRecorded, .outageRecorded:
            return
        }
    }

    /// The limits of the device's profile.
    var profile: Profile { policy[state.registration?.profile ?? .ios18] }

    func installed(_ app: String) throws(LifecycleRefusal) -> InstalledApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }

    /// Returns the app if its code can run.
    func running(_ app: String) throws(LifecycleRefusal) -> InstalledApp {
        let record = try installed(app)
        guard record.state.isRunning else { throw .appNotRunning(record.state) }
        return record
    }
}
