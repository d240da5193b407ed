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
}
