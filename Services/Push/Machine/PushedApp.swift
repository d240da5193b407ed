public import Contracts
public import Records
public import Timeline

/// What the machine knows about one installed app of its device.
public struct PushedApp: Record, Equatable {
    /// Nil where the app has not registered.
    public var registration: TokenRegistration?
    /// Whether it declares a mode that lets a notification wake it, on a system that has it.
    public var wakes = false
    /// On screen, as far as known.
    public var foreground = false
    public var notifications = Switch.on
    public var usedAt: Instant?
    public var budget = SilentBudget()
    /// The broadcast channels that it hears, in the order in which it named them. They go with the registration.
    public var channels: [String] = []

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("budget", &budget)
        fields.field("channels", &channels)
        fields.field("foreground", &foreground)
        fields.field("notifications", &notifications)
        fields.omittable("registration", &registration)
        fields.omittable("usedAt", &usedAt)
        fields.field("wakes", &wakes)
    }
}

/// A device token that is valid.
public struct TokenRegistration: Record, Equatable {
    public var token = ""
    public var environment = PushEnvironment.sandbox
    public var at = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("at", &at)
        fields.field("environment", &environment)
        fields.field("token", &token)
    }
}

/// A device token that is void.
public struct RetiredToken: Record, Equatable {
    public var app = ""
    public var token = ""
    public var environment = PushEnvironment.sandbox
    public var at = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("at", &at)
        fields.field("environment", &environment)
        fields.field("token", &token)
    }
}

/// How many silent notifications an app may still get: a bucket, kept as the moment at which it is full again, so that all
/// arithmetic is on whole milliseconds (the generic cell rate algorithm, ITU-T I.371).
public struct SilentBudget: Record, Equatable {
    public var fullAt = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("fullAt", &fullAt) }

    /// When there is something to spend.
    public func available(_ policy: PushPolicy) -> Instant { fullAt - policy.silentRefill * (policy.silentBurst - 1) }

    /// How many may be spent now.
    public func left(at now: Instant, _ policy: PushPolicy) -> Int {
        let missing = max(0, (fullAt - now).milliseconds)
        let refill = policy.silentRefill.milliseconds
        return Int(max(0, policy.silentBurst - (missing + refill - 1) / refill))
    }

    /// When it is full again after one was spent.
    func afterSpending(at now: Instant, _ policy: PushPolicy) -> Instant { max(fullAt, now) + policy.silentRefill }
}
