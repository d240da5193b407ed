public import Contracts
public import Machines
public import OrderedCollections
import Records
public import Timeline

/// One device: its conditions, and the next background refresh and the task requests of each app.
///
/// The states of an app's refreshes:
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> idle
///     idle --> waiting: interval set
///     waiting --> scheduled: no factor blocks
///     scheduled --> waiting: a factor blocks
///     scheduled --> due: the chosen slot has come
///     due --> started: woken
///     due --> scheduled: refused, not answered
///     started --> scheduled: completed, timed out, ended
///     scheduled --> idle: never
///     waiting --> idle: never
/// ```
///
/// The states of a task request:
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> pending: submitted
///     pending --> pending: replaced, refused, not answered
///     pending --> [*]: cancelled
///     pending --> due: its time has come, simulated
///     due --> pending: refused, not answered
///     due --> running: woken
///     running --> stopping: the user returned, a condition ended, simulated
///     running --> [*]: completed, timed out, ended
///     stopping --> [*]: completed, timed out, ended
/// ```
public struct FetchMachine: Machine {
    public typealias Command = FetchCommand
    public typealias OwnEvent = FetchEvent
    public typealias Refusal = FetchRefusal
    public typealias Policy = FetchPolicy

    /// The profile of the device; nil while it is not registered.
    public var profile: ProfileName?
    /// The fleet whose tokens may access the device.
    public var fleet: String?
    /// The IANA name of the device's time zone; nil for UTC.
    public var timeZone: String?
    public var isPoweredOn = true
    /// Battery, Low Power Mode, network, lock and thermal state. The machine ignores other conditions.
    public var conditions = Conditions.atRegistration
    /// The time since which it is locked; nil while it is not.
    public var lockedAt: Instant?
    /// The switch of Background App Refresh for the whole device.
    public var backgroundRefresh = Switch.on
    /// Whether the device restricts Background App Refresh, independent of the switches.
    public var isBackgroundRefreshRestricted = false
    /// The installed apps by bundle identifier.
    public var apps: OrderedDictionary<String, ScheduledApp> = [:]
    /// The energy and data that the refreshes of all apps have spent today.
    public var budgetUsage = BudgetUsage()
    /// The time of the last wake for a refresh or a task.
    public var wokenAt: Instant?

    public static let version = 1

    public var nextDeadline: Instant? {
        let apps = known
        var next: Instant?
        for index in apps.indices {
            guard let moment = apps[index].nextDeadline else { continue }
            next = next.map { min($0, moment) } ?? moment
        }
        return next
    }

    private var runsTask: Bool {
        let apps = known
        return apps.indices.contains { apps[$0].runningTask != nil }
    }

    public static func decide(
        _ input: Input<FetchCommand>, _ decision: inout Decision<FetchMachine>
    ) throws(FetchRefusal) {
        let wasInUse = decision.state.isAnyInForeground
        switch input {
        case .command(let command): try decision.handle(command)
        case .event(let event):
            // Only a task that already runs can be stopped. A copy of the state makes changes more expensive.
            let before = decision.state.runsTask ? decision.state : nil
            try decision.handle(event)
            if let before { decision.stopTasks(since: before) }
        case .deadline:
            decision.enforceDeadlines()
            decision.enforceTaskDeadlines()
            decision.giveUpContinuedTasks()
        }
        decision.scheduleTouched(wasInUse)
    }
}

extension Decision<FetchMachine> {
    fileprivate mutating func handle(_ command: FetchCommand) throws(FetchRefusal) {
        guard state.profile != nil else { throw .deviceNotRegistered }
        switch command {
        case .setInterval(let app, let interval): try setInterval(app, interval)
        case .simulateFetch(let app): try simulateFetch(app)
        case .submitTask(let app, let request): try submitTask(app, request)
        case .cancelTask(let app, let identifier): try cancelTask(app, identifier)
        case .cancelAllTasks(let app): try cancelAllTasks(app)
        case .cancelContinuedTask(let app, let identifier): try cancelContinuedTask(app, identifier)
        case .simulateTaskLaunch(let app, let identifier): try simulateTaskLaunch(app, identifier)
        case .simulateTaskExpiration(let app, let identifier): try simulateTaskExpiration(app, identifier)
        }
    }

    /// Schedules the apps that an event affects. Time alone changes no choice.
    ///
    /// - Parameter wasInUse: Whether an app was in the foreground before the decision.
    fileprivate mutating func scheduleTouched(_ wasInUse: Bool) {
        guard state.profile != nil, !events.isEmpty else { return }
        startContinuedTasks()
        var touched: OrderedSet<String> = []
        for event in events {
            guard let app = event.touchedApp(changesUse: wasInUse != state.isAnyInForeground) else {
                touched = state.apps.keys
                break
            }
            touched.append(app)
        }
        schedule(Array(touched))
        scheduleTasks(Array(touched))
    }

    /// Throws unless the generation of the device has a feature.
    func require(_ feature: Feature) throws(FetchRefusal) {
        guard let profile = policy.profile(of: state), !profile.has(feature) else { return }
        throw .unsupported(feature, on: profile)
    }

    /// Returns the app if its code runs. Calls that represent code of the app need this.
    func running(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        let record = try installed(app)
        guard record.state.isRunning else { throw .appNotRunning(record.state) }
        return record
    }

    func installed(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }
}

extension FetchMachine {
    /// True: `lifecycle` must answer due refreshes in time, which an outage extends.
    public static let ownsLimits = true

    /// Reserves new times for refreshes that came due during the outage, so that the limit of wakes still protects backends.
    public static func note(_ outage: Outage, _ decision: inout Decision<FetchMachine>) {
        let apps = decision.state.apps.filter { $0.value.isConcerned(by: outage) }.keys
        guard !apps.isEmpty else { return }
        decision.emit(.outageRecorded(.init(from: outage.from, until: outage.until)))
        decision.schedule(Array(apps))
        decision.scheduleTasks(Array(apps))
    }

    mutating func extendLimits(by length: Interval) {
        for name in apps.keys {
            change(name) { app in
                if let end = app.running?.answerBy { app.running?.answerBy = end + length }
                if let end = app.runningTask?.answerBy { app.runningTask?.answerBy = end + length }
                for (identifier, task) in app.continuedTasks {
                    app.continuedTasks[identifier]?.run?.answerBy = task.run?.answerBy.map { $0 + length }
                }
            }
        }
    }
}

extension ScheduledApp {
    fileprivate func isConcerned(by outage: Outage) -> Bool {
        running != nil || runningTask != nil || continuedTasks.values.contains { $0.run != nil }
            || nextDeadline.map { $0 <= outage.until } ?? false
    }
}

extension FetchEvent {
    /// The only app whose next wakes the event can change; nil if it can change those of several.
    ///
    /// - Parameter changesUse: Whether an app came to the foreground when none was there, or the last one left.
    fileprivate func touchedApp(changesUse: Bool) -> String? {
        switch self {
        case .intervalSet, .refreshDue, .refreshStarted, .taskSubmitted, .taskCancelled, .taskDue, .taskStarted,
            .taskStopped:
            data.app
        // A change of the state alone changes no choice of another app, unless it changes the use of the device.
        case .appUpdated(let event)
        where !changesUse && event == .init(app: event.app, state: event.state):
            event.app
        // The foreground app and the spending of the device affect all apps.
        case .deviceUpdated, .deviceRemoved, .conditionsChanged, .appUpdated, .appOpened, .appRemoved,
            .refreshRecorded, .taskRecorded, .refreshScheduled, .taskScheduled, .outageRecorded:
            nil
        }
    }
}
