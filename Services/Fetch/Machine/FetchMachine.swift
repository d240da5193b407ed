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
    /// Background App Refresh for the whole device.
    public var backgroundRefresh = Switch.on
    public var apps: OrderedDictionary<String, ScheduledApp> = [:]

    public static let version = 1

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("profile", &profile)
        fields.omittable("fleet", &fleet)
        fields.omittable("timeZone", &timeZone)
        fields.field("isPoweredOn", &isPoweredOn)
        fields.field("conditions", &conditions)
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.field("apps", &apps)
    }

    public var nextDeadline: Instant? { apps.values.compactMap(\.nextDeadline).min() }

    public static func decide(
        _ input: Input<FetchCommand>, _ decision: inout Decision<FetchMachine>
    ) throws(FetchRefusal) {
        switch input {
        case .command(let command): try decision.obey(command)
        case .event(let event): try decision.follow(event)
        case .deadline:
            decision.enforceDeadlines()
            return decision.schedule()
        }
        // Time alone changes no choice.
        if !decision.events.isEmpty { decision.schedule() }
    }
}

extension Decision<FetchMachine> {
    fileprivate mutating func obey(_ command: FetchCommand) throws(FetchRefusal) {
        guard state.profile != nil else { throw .deviceNotRegistered }
        switch command {
        case .setInterval(let app, let interval): try setInterval(app, interval)
        case .simulateFetch(let app): try simulateFetch(app)
        }
    }

    func installed(_ app: String) throws(FetchRefusal) -> ScheduledApp {
        guard let record = state.apps[app] else { throw .appNotInstalled(app) }
        return record
    }
}
