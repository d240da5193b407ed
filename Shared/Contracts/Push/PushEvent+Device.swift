public import Records
public import Timeline

extension PushEvent {
    /// `push` learned of a device, or of what it is.
    public struct DeviceNoted: EventData {
        public static let type = "push.device.noted"
        public static let summary = "`push` learned of a device, or of what it is."

        public var fleet: String?
        public var profile: ProfileName = .ios18

        public init() {}

        public init(fleet: String? = nil, profile: ProfileName) {
            self.fleet = fleet
            self.profile = profile
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("fleet", &fleet)
            fields.field("profile", &profile)
        }
    }

    /// A device left the suite; only its void tokens are remembered.
    public struct DeviceDropped: EventData {
        public static let type = "push.device.dropped"
        public static let summary = "A device left the suite; only its void tokens are remembered."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// The conditions of a device that bear on delivery, as they are now.
    public struct ConditionsNoted: EventData {
        public static let type = "push.conditions.noted"
        public static let summary = "The conditions of a device that bear on delivery, as they are now."

        public var charging: Bool = false
        public var locked: Bool = false
        public var lowPowerMode: Bool = false
        public var network: NetworkKind = .wifi
        public var poweredOn: Bool = true

        public init() {}

        public init(charging: Bool, locked: Bool, lowPowerMode: Bool, network: NetworkKind, poweredOn: Bool) {
            self.charging = charging
            self.locked = locked
            self.lowPowerMode = lowPowerMode
            self.network = network
            self.poweredOn = poweredOn
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("charging", &charging)
            fields.field("locked", &locked)
            fields.field("lowPowerMode", &lowPowerMode)
            fields.field("network", &network)
            fields.field("poweredOn", &poweredOn)
        }
    }

    /// What `push` knows of an installed app, as it is now.
    public struct AppNoted: EventData {
        public static let type = "push.app.noted"
        public static let summary = "What `push` knows of an installed app, as it is now."

        public var app: String?
        /// On screen.
        public var foreground: Bool = false
        /// Whether the user lets it show any.
        public var notifications: Switch = .on
        /// When the user last opened it, as far as known.
        public var usedAt: Instant?
        /// Whether it declares a mode that lets a notification wake it.
        public var wakes: Bool = false

        public init() {}

        public init(app: String?, foreground: Bool, notifications: Switch, usedAt: Instant? = nil, wakes: Bool) {
            self.app = app
            self.foreground = foreground
            self.notifications = notifications
            self.usedAt = usedAt
            self.wakes = wakes
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("foreground", &foreground)
            fields.field("notifications", &notifications)
            fields.omittable("usedAt", &usedAt)
            fields.field("wakes", &wakes)
        }
    }

    /// An app is gone from a device.
    public struct AppDropped: EventData {
        public static let type = "push.app.dropped"
        public static let summary = "An app is gone from a device."

        public var app: String?

        public init() {}

        public init(app: String?) {
            self.app = app
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
        }
    }

    /// The silent budget of a device was switched on or off.
    public struct ThrottleChanged: EventData {
        public static let type = "push.throttle.changed"
        public static let summary = "The silent budget of a device was switched on or off."

        public var enabled: Bool = true

        public init() {}

        public init(enabled: Bool) {
            self.enabled = enabled
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("enabled", &enabled)
        }
    }

    /// A device opened its connection for notifications.
    public struct DeviceConnected: EventData {
        public static let type = "push.device.connected"
        public static let summary = "A device opened its connection for notifications."

        public var connection: String = ""
        /// The process that holds a stream: a UUID of its own.
        public var holder: String?
        public var kind: ConnectionKind = .stream
        /// When a polling device counts as gone unless it polls again.
        public var until: Instant?

        public init() {}

        public init(connection: String, holder: String? = nil, kind: ConnectionKind, until: Instant? = nil) {
            self.connection = connection
            self.holder = holder
            self.kind = kind
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("connection", &connection)
            fields.omittable("holder", &holder)
            fields.field("kind", &kind)
            fields.omittable("until", &until)
        }
    }

    /// A polling device asked again.
    public struct DevicePolled: EventData {
        public static let type = "push.device.polled"
        public static let summary = "A polling device asked again."

        public var connection: String = ""
        /// When it counts as gone unless it polls again.
        public var until: Instant = .epoch

        public init() {}

        public init(connection: String, until: Instant) {
            self.connection = connection
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("connection", &connection)
            fields.field("until", &until)
        }
    }

    /// The connection of a device ended; what it had not acknowledged is stored again.
    public struct DeviceDisconnected: EventData {
        public static let type = "push.device.disconnected"
        public static let summary = "The connection of a device ended; what it had not acknowledged is stored again."

        public var cause: ConnectionEnd = .closed
        public var connection: String = ""

        public init() {}

        public init(cause: ConnectionEnd, connection: String) {
            self.cause = cause
            self.connection = connection
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("cause", &cause)
            fields.field("connection", &connection)
        }
    }

    /// An app got its device token.
    public struct TokenRegistered: EventData {
        public static let type = "push.token.registered"
        public static let summary = "An app got its device token."

        public var app: String?
        public var environment: PushEnvironment = .sandbox
        /// 64 hexadecimal digits.
        public var token: String = ""

        public init() {}

        public init(app: String?, environment: PushEnvironment, token: String) {
            self.app = app
            self.environment = environment
            self.token = token
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("environment", &environment)
            fields.field("token", &token)
        }
    }

    /// A device token is void: providers are told so.
    public struct TokenUnregistered: EventData {
        public static let type = "push.token.unregistered"
        public static let summary = "A device token is void: providers are told so."

        public var app: String?
        public var cause: TokenEnd = .unregistered
        public var environment: PushEnvironment = .sandbox
        public var token: String = ""

        public init() {}

        public init(app: String?, cause: TokenEnd, environment: PushEnvironment, token: String) {
            self.app = app
            self.cause = cause
            self.environment = environment
            self.token = token
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("cause", &cause)
            fields.field("environment", &environment)
            fields.field("token", &token)
        }
    }

    /// A silent notification was charged to the budget of its app, or given back.
    public struct BudgetChanged: EventData {
        public static let type = "push.budget.changed"
        public static let summary = "A silent notification was charged to the budget of its app, or given back."

        public var app: String?
        /// False where it was given back.
        public var charged: Bool = false
        /// Days since 1970.
        public var day: Int = 0
        /// When the budget is full again.
        public var fullAt: Instant = .epoch
        public var notification: String = ""
        /// Of all apps of the device.
        public var spentToday: Int = 0

        public init() {}

        public init(app: String?, charged: Bool, day: Int, fullAt: Instant, notification: String, spentToday: Int) {
            self.app = app
            self.charged = charged
            self.day = day
            self.fullAt = fullAt
            self.notification = notification
            self.spentToday = spentToday
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("charged", &charged)
            fields.field("day", &day)
            fields.field("fullAt", &fullAt)
            fields.field("notification", &notification)
            fields.field("spentToday", &spentToday)
        }
    }
}
