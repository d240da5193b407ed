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

    public static let version = 1

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
    }

    public var nextDeadline: Instant? { apps.values.compactMap(\.nextDeadline).min() }

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
            return decision.scheduleAll()
        }
        // Time alone changes no choice.
        if !decision.events.isEmpty { decision.scheduleAll() }
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

    fileprivate mutating func scheduleAll() {
        guard state.profile != nil else { return }
        schedule()
        scheduleTasks()
    }

    func installed(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }
}
