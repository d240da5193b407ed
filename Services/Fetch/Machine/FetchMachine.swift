public import Contracts
public import Machines
public import OrderedCollections
public import Records
public import Timeline

/// One device: its conditions, and for each app when its next background refresh happens.
///
/// The refreshes of an app:
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
/// A task request of an app, by its identifier:
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> pending: submitted
///     pending --> pending: replaced, refused, not answered
///     pending --> [*]: cancelled
///     pending --> due: its moment has come, simulated
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

    /// What the device is; nil while it is not registered.
    public var profile: ProfileName?
    public var fleet: String?
    public var timeZone: String?
    public var isPoweredOn = true
    /// Battery, Low Power Mode, network, lock and heat; the rest is not followed.
    public var conditions = Conditions.atRegistration
    /// Since when it is locked; nil while it is not.
    public var lockedAt: Instant?
    /// Background App Refresh for the whole device.
    public var backgroundRefresh = Switch.on
    /// Whether the device forbids it, whatever the switches say.
    public var isBackgroundRefreshRestricted = false
    public var apps: OrderedDictionary<String, ScheduledApp> = [:]
    /// What the refreshes of all apps have spent today.
    public var spending = Spending()
    /// When it was woken last, for a refresh or a task.
    public var wokenAt: Instant?

    public static let version = 2

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("profile", &profile)
        fields.omittable("fleet", &fleet)
        fields.omittable("timeZone", &timeZone)
        fields.field("isPoweredOn", &isPoweredOn)
        fields.field("conditions", &conditions)
        fields.omittable("lockedAt", &lockedAt)
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.field("isBackgroundRefreshRestricted", &isBackgroundRefreshRestricted)
        fields.field("apps", &apps)
        fields.field("spending", &spending)
        fields.omittable("wokenAt", &wokenAt)
    }

    public var nextDeadline: Instant? {
        let apps = known
        return apps.indices.lazy.compactMap { apps[$0].nextDeadline }.min()
    }

    public static func decide(
        _ input: Input<FetchCommand>, _ decision: inout Decision<FetchMachine>
    ) throws(FetchRefusal) {
        switch input {
        case .command(let command): try decision.obey(command)
        case .event(let event):
            let before = decision.state
            try decision.follow(event)
            decision.stopTasks(since: before)
        case .deadline:
            decision.enforceDeadlines()
            decision.enforceTaskDeadlines()
        }
        decision.scheduleTouched()
    }
}

extension Decision<FetchMachine> {
    fileprivate mutating func obey(_ command: FetchCommand) throws(FetchRefusal) {
        guard state.profile != nil else { throw .deviceNotRegistered }
        switch command {
        case .setInterval(let app, let interval): try setInterval(app, interval)
        case .simulateFetch(let app): try simulateFetch(app)
        case .submitTask(let app, let request): try submitTask(app, request)
        case .cancelTask(let app, let identifier): try cancelTask(app, identifier)
        case .cancelAllTasks(let app): try cancelAllTasks(app)
        case .simulateTaskLaunch(let app, let identifier): try simulateTaskLaunch(app, identifier)
        case .simulateTaskExpiration(let app, let identifier): try simulateTaskExpiration(app, identifier)
        }
    }

    /// Time alone changes no choice: chosen anew is for the apps that something happened to, or to their device.
    fileprivate mutating func scheduleTouched() {
        guard state.profile != nil, !events.isEmpty else { return }
        var touched: OrderedSet<String> = []
        for event in events {
            guard let app = event.touchedApp else {
                touched = state.apps.keys
                break
            }
            touched.append(app)
        }
        schedule(Array(touched))
        scheduleTasks(Array(touched))
    }

    func installed(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }
}

extension FetchMachine {
    /// `lifecycle` could not be heard: what it has to answer is waited for longer.
    public static let ownsLimits = true

    /// What was due meanwhile gets moments anew: all at once it would come upon the backends that the ceiling protects.
    public static func note(_ outage: Outage, _ decision: inout Decision<FetchMachine>) {
        let apps = decision.state.apps.filter { $0.value.isConcerned(by: outage) }.keys
        guard !apps.isEmpty else { return }
        decision.emit(.outageNoted(.init(from: outage.from, until: outage.until)))
        decision.schedule(Array(apps))
        decision.scheduleTasks(Array(apps))
    }

    mutating func extendLimits(by length: Interval) {
        for name in apps.keys {
            change(name) { app in
                if let end = app.running?.answerBy { app.running?.answerBy = end + length }
                if let end = app.runningTask?.answerBy { app.runningTask?.answerBy = end + length }
            }
        }
    }
}

extension ScheduledApp {
    fileprivate func isConcerned(by outage: Outage) -> Bool {
        running != nil || runningTask != nil || nextDeadline.map { $0 <= outage.until } ?? false
    }
}

extension FetchEvent {
    /// The one app whose next wakes it may change; nil where it may change those of others.
    fileprivate var touchedApp: String? {
        switch self {
        case .intervalSet(let event): event.app
        case .refreshDue(let event): event.app
        case .refreshStarted(let event): event.app
        case .taskSubmitted(let event): event.app
        case .taskCancelled(let event): event.app
        case .taskDue(let event): event.app
        case .taskStarted(let event): event.app
        case .taskStopped(let event): event.app
        // Who is on screen matters to all, and so does what the device has spent.
        case .deviceDescribed, .deviceForgotten, .conditionsChanged, .appChanged, .appOpened, .appForgotten,
            .refreshRecorded, .taskRecorded, .refreshScheduled, .taskScheduled, .outageNoted:
            nil
        }
    }
}
