public import Contracts
public import Machines
public import OrderedCollections
public import Records
public import Timeline

/// The state and rules of one device: tokens, connection, and notifications that wait or are shown.
///
/// The states of a notification, and the events between them. A `held` notification may already be acknowledged: its
/// wake was temporarily refused. `crowded`: fifty newer ones are shown. `voided`: its app has no token.
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> received: received
///     received --> inFlight: delivered
///     received --> stored: stored
///     received --> held: held
///     received --> [*]: discarded
///     stored --> inFlight: delivered
///     stored --> held: held
///     stored --> acknowledged: acknowledged, woken
///     stored --> shown: acknowledged
///     stored --> [*]: replaced, discarded, acknowledged
///     held --> inFlight: delivered
///     held --> acknowledged: released
///     held --> [*]: replaced, discarded
///     inFlight --> stored: stored
///     inFlight --> held: held
///     inFlight --> acknowledged: acknowledged, woken
///     inFlight --> shown: acknowledged
///     inFlight --> [*]: acknowledged, replaced, discarded
///     acknowledged --> held: held
///     acknowledged --> shown: completed, ended, presented, modified, unmodified
///     acknowledged --> [*]: completed, ended, refused, presented, replaced, discarded, modified, unmodified
///     shown --> [*]: opened, responded, dismissed, replaced, crowded, voided
/// ```
public struct PushMachine: Machine {
    public typealias Command = PushCommand
    public typealias OwnEvent = PushEvent
    public typealias Refusal = PushRefusal
    public typealias Policy = PushPolicy

    /// The installed apps, by bundle identifier.
    public var apps: OrderedDictionary<String, PushedApp> = [:]
    /// Power, network, lock and battery conditions.
    public var conditions: PushEvent.ConditionsChanged = .placeholder
    /// The connection of the device; nil if it is not connected.
    public var connection: PushConnection?
    /// The day of ``spentToday``, in days since 1970.
    public var day = 0
    /// The fleet of the device.
    public var fleet: String?
    /// Whether the device is registered at `lifecycle`.
    public var isKnown = false
    /// Whether the silent budget is on.
    public var isThrottled = true
    /// The unsettled notifications, by `apns-unique-id`, in order of arrival.
    public var messages: OrderedDictionary<String, PushMessage> = [:]
    /// The iOS version that the device simulates.
    public var profile = ProfileName.ios18
    /// The newest inactive tokens, oldest first. They outlive the device's registration, so that providers get 410.
    public var retired: [RetiredToken] = []
    /// The shown notifications, oldest first.
    public var shown: [ShownNotification] = []
    /// The behaviour of a built-in device; nil for any other.
    public var simulate: BuiltInDevice?
    /// The silent notifications charged to the device on ``day``.
    public var spentToday = 0
    /// The local times of the scheduled summary; nil for the usual ones.
    public var summaryTimes: [String]?
    /// A name of the IANA time zone database; nil for UTC.
    public var timeZone: String?

    public static let version = 1
    public static let follows = DeviceFact.types.union([
        LifecycleEvent.AppSuspended.type, LifecycleEvent.DeviceErased.type, LifecycleEvent.SettingsChanged.type,
    ])

    /// Whether the device is connected, powered on and on a network.
    public var isOnline: Bool { connection != nil && hasNetwork }
    var hasNetwork: Bool { conditions.poweredOn && conditions.network != .none }
    /// Whether the device is in use or charging; otherwise it sleeps.
    public var isPowerFriendly: Bool { !conditions.locked || conditions.charging }

    /// Whether the device shows a notification.
    func shows(_ notification: String) -> Bool { shown.contains { $0.id == notification } }

    /// Returns when the budgets of app and device next allow a silent notification; nil for long unused apps.
    public func silentAvailability(of app: PushedApp, at now: Instant, _ policy: PushPolicy) -> Instant? {
        guard let usedAt = app.usedAt, now - usedAt < policy.longUnused else { return nil }
        let available = app.budget.available(policy)
        let today = Self.day(of: now)
        guard day == today, spentToday >= policy.silentDaily else { return available }
        return max(available, Instant.epoch + .days(Int64(today + 1)))
    }

    /// Returns how many silent notifications the budgets of app and device allow now.
    public func silentLeft(of app: PushedApp, at now: Instant, _ policy: PushPolicy) -> Int {
        guard let available = silentAvailability(of: app, at: now, policy), available <= now else { return 0 }
        let today = day == Self.day(of: now) ? spentToday : 0
        return min(app.budget.left(at: now, policy), policy.silentDaily - today)
    }

    /// An upper estimate of the bytes of the state without unsettled notifications. A Live Activity counts with its
    /// largest content, because an update may not find the state full.
    var standingCost: Int {
        let apps = apps.reduce(0) {
            $0 + 256 + $1.key.utf8.count + 32 * $1.value.channels.count
                + $1.value.categoryCost + $1.value.tokens.reduce(0) { $0 + 96 + ($1.activity?.utf8.count ?? 0) }
                + $1.value.liveActivities.reduce(0) {
                    $0 + 256 + $1.key.utf8.count + ($1.value.attributesType?.utf8.count ?? 0)
                        + max(LiveActivity.contentBytes, $1.value.contentState.bytes.count)
                }
        }
        let shown = shown.reduce(0) {
            $0 + 128 + $1.app.utf8.count + ($1.collapseID?.utf8.count ?? 0) + ($1.category?.utf8.count ?? 0)
                + ($1.threadID?.utf8.count ?? 0)
        }
        return 1024 + apps + shown + retired.reduce(0) { $0 + 128 + $1.app.utf8.count }
    }

    /// Returns the day, in days since 1970.
    static func day(of now: Instant) -> Int { Int(now.milliseconds / Interval.days(1).milliseconds) }

    public var nextDeadline: Instant? {
        var next = connection?.until
        for app in apps.values {
            for activity in app.liveActivities.values { next = activity.due.map { earlier(next, $0) } ?? next }
        }
        for message in messages.values {
            if let deadline = message.extensionDeadline { next = earlier(next, deadline) }
            if let answer = extensionAnswer(message) { next = earlier(next, answer) }
            if let summaryAt = message.summaryAt, conditions.poweredOn, message.waitsForSummary {
                next = earlier(next, summaryAt)
            }
            guard message.stage == .stored || message.stage == .held else { continue }
            next = earlier(next, message.expiresAt)
            if isOnline, let due = message.due { next = earlier(next, due) }
        }
        return next
    }

    private func earlier(_ left: Instant?, _ right: Instant) -> Instant { left.map { min($0, right) } ?? right }

    public static func decide(
        _ input: Input<PushCommand>, _ decision: inout Decision<PushMachine>
    ) throws(PushRefusal) {
        switch input {
        case .command(let command): try decision.handle(command)
        case .event(let event): try decision.handle(event)
        case .deadline: decision.keepTime()
        }
        decision.actAsDevice()
    }
}

/// The connection of a device.
public struct PushConnection: Record, Equatable {
    /// The id of the connection.
    public var id = ""
    /// A stream, polls, the connection of a built-in device, or the stream of the fleet.
    public var kind = ConnectionKind.stream
    /// The start of the connection.
    public var since = Instant.epoch
    /// Polls only: the deadline of the next poll.
    public var until: Instant?
}

extension Decision<PushMachine> {
    fileprivate mutating func handle(_ command: PushCommand) throws(PushRefusal) {
        // The tokens of a device outlive its registration.
        if case .receive(let push) = command { return try receive(push) }
        if case .refuse(let push, let status) = command { return refuse(push, status) }
        guard state.isKnown else { throw .deviceNotRegistered }
        switch command {
        case .receive(let push): try receive(push)
        case .refuse(let push, let status): refuse(push, status)
        case .receiveBroadcast(let broadcast): try receive(broadcast)
        case .register(let app, let environment, let kind, let activity, let channels):
            try requireChannels(for: channels)
            try register(app, environment, kind, activity, channels)
        case .unregister(let app, let kind, let activity): try unregister(app, kind, activity)
        case .forgetChannel(let app, let channel): forget(channel, of: app)
        case .connect(let connection, let holder, let kind): try connect(connection, holder: holder, kind)
        case .disconnect(let connection, let cause): disconnect(connection, cause)
        case .poll(let connection, let wait): try poll(connection, wait)
        case .acknowledge(let notification): acknowledge(notification)
        case .present(let notification, let options): try present(notification, options)
        case .modify(let notification, let content): try modify(notification, content)
        case .open(let notification): try open(notification)
        case .respond(let notification, let response): try respond(to: notification, response)
        case .setCategories(let app, let categories): try setCategories(categories, of: app)
        case .keepAlive: try keepAlive()
        case .setThrottle(let enabled): setThrottle(enabled)
        case .startActivity(let app, let activity, let request): try start(activity, of: app, request)
        case .updateActivity(let app, let activity, let contentState, let staleDate):
            try update(activity, of: app, contentState, staleDate: staleDate)
        case .endActivity(let app, let activity, let contentState, let dismissalDate):
            try end(activity, of: app, contentState, dismissalDate: dismissalDate)
        case .dismissActivity(let app, let activity): try dismiss(activity, of: app)
        }
    }

    /// Handles all due deadlines. Each step may affect the next ones.
    fileprivate mutating func keepTime() {
        if let connection = state.connection, let until = connection.until, until <= now {
            endConnection(.pollMissed)
        }
        expire()
        expireExtensions()
        showSummary()
        ageActivities()
        guard state.isOnline else { return }
        if state.messages.values.contains(where: { $0.stage == .stored && $0.due.map { $0 <= now } ?? false }) {
            flushStore()
        }
        releaseWithinBudget()
    }
}
