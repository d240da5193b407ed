public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// An installed app of the device.
public struct PushedApp: Record, Equatable {
    /// Its silent budget.
    public var budget = SilentBudget()
    /// Its notification categories.
    public var categories: [NotificationCategory] = []
    /// The broadcast channels of the registration, in its order. They end with the token. Live Activities have their
    /// own channels.
    public var channels: [String] = []
    /// Whether it has a notification service extension.
    public var hasServiceExtension = false
    /// Its Live Activities by id, until their dismissal.
    public var liveActivities: OrderedDictionary<String, LiveActivity> = [:]
    /// The user's settings for notifications.
    public var notifications = NotificationSettings()
    /// Its state in `lifecycle`.
    public var state = AppPresence.notRunning
    /// Its active device tokens, in the order of registration: at most one of each kind, and one for each Live
    /// Activity.
    public var tokens: [TokenRegistration] = []
    /// The time of the last use.
    public var usedAt: Instant?
    /// Whether notifications can wake it: it declares a background mode that its iOS version supports.
    public var wakes = false

    /// Whether it is on screen.
    public var foreground: Bool { state == .foreground }
    /// The token for alerts and background pushes; nil if the app has none.
    public var registration: TokenRegistration? { token(of: .apns) }

    /// The environment of a channel that its Live Activity names without an environment: the one of the registration, or
    /// the sandbox.
    public var channelEnvironment: PushEnvironment { registration?.environment ?? .sandbox }

    /// Returns whether it gets the broadcasts of a channel: it subscribed to it, or a Live Activity did.
    func hears(_ channel: String, in environment: PushEnvironment) -> Bool {
        registration?.environment == environment && channels.contains(channel)
            || liveActivities.values.contains { $0.channel == channel && $0.environment == environment }
    }

    /// Returns the token of a kind; nil if the app has none.
    ///
    /// - Parameter activity: the Live Activity of the token.
    public func token(of kind: TokenKind, activity: String? = nil) -> TokenRegistration? {
        tokens.first { $0.kind == kind && $0.activity == activity }
    }
}

/// An active device token, with the time of its registration.
public struct TokenRegistration: Record, Equatable {
    /// The Live Activity of the token; nil for other kinds.
    public var activity: String?
    public var at = Instant.epoch
    public var environment = PushEnvironment.sandbox
    public var kind = TokenKind.apns
    public var token = ""
}

/// An inactive device token, with the time of its end.
public struct RetiredToken: Record, Equatable {
    public var app = ""
    public var at = Instant.epoch
    public var environment = PushEnvironment.sandbox
    public var kind = TokenKind.apns
    public var token = ""
}

/// The silent budget of an app: a token bucket, stored as the time when it is full again, in whole milliseconds
/// (generic cell rate algorithm, ITU-T I.371).
public struct SilentBudget: Record, Equatable {
    /// The time at which the bucket is full again.
    public var fullAt = Instant.epoch

    /// Returns when the budget next allows a silent notification.
    public func available(_ policy: PushPolicy) -> Instant { fullAt - policy.silentRefill * (policy.silentBurst - 1) }

    /// Returns how many silent notifications the budget allows now.
    public func left(at now: Instant, _ policy: PushPolicy) -> Int {
        let missing = max(0, (fullAt - now).milliseconds)
        let refill = policy.silentRefill.milliseconds
        return Int(max(0, policy.silentBurst - (missing + refill - 1) / refill))
    }

    /// Returns when the bucket is full again after one more silent notification.
    func afterSpending(at now: Instant, _ policy: PushPolicy) -> Instant { max(fullAt, now) + policy.silentRefill }
}
