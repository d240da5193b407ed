public import Records
public import Timeline

extension LifecycleEvent {
    /// A device came under the suite's care: powered on, unlocked, on Wi-Fi, fully charged.
    public struct DeviceRegistered: EventData {
        public static let type = "lifecycle.device.registered"
        public static let summary =
            "A device came under the suite's care: powered on, unlocked, on Wi-Fi, fully charged."

        public var registration: Registration = .placeholder

        public init() {}

        public init(registration: Registration) {
            self.registration = registration
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("registration", &registration)
        }
    }

    /// A registered device was described anew.
    public struct DeviceUpdated: EventData {
        public static let type = "lifecycle.device.updated"
        public static let summary = "A registered device was described anew."

        public var registration: Registration = .placeholder

        public init() {}

        public init(registration: Registration) {
            self.registration = registration
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("registration", &registration)
        }
    }

    /// A device left, with all its apps.
    public struct DeviceDeregistered: EventData {
        public static let type = "lifecycle.device.deregistered"
        public static let summary = "A device left, with all its apps."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// The tokens of a device that were issued so far are void.
    public struct DeviceRevoked: EventData {
        public static let type = "lifecycle.device.revoked"
        public static let summary = "The tokens of a device that were issued so far are void."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// A device was switched on or off, or restarted; what ran has ended before.
    public struct DevicePowered: EventData {
        public static let type = "lifecycle.device.powered"
        public static let summary = "A device was switched on or off, or restarted; what ran has ended before."

        public var power: PowerEvent = .placeholder

        public init() {}

        public init(power: PowerEvent) {
            self.power = power
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("power", &power)
        }
    }

    /// A device woke, or stays awake for longer.
    public struct DeviceAwoke: EventData {
        public static let type = "lifecycle.device.awoke"
        public static let summary = "A device woke, or stays awake for longer."

        public var cause: AwakeCause = .placeholder
        /// It does not sleep before, whatever happens to the cause.
        public var until: Instant = .epoch

        public init() {}

        public init(cause: AwakeCause, until: Instant) {
            self.cause = cause
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("cause", &cause)
            fields.field("until", &until)
        }
    }

    /// A locked device fell asleep: from iOS 7 the clocks of background tasks stand still.
    public struct DeviceSlept: EventData {
        public static let type = "lifecycle.device.slept"
        public static let summary =
            "A locked device fell asleep: from iOS 7 the clocks of background tasks stand still."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// Something drew the user's attention.
    public struct DeviceInterrupted: EventData {
        public static let type = "lifecycle.device.interrupted"
        public static let summary = "Something drew the user's attention."

        public var kind: InterruptionKind = .placeholder

        public init() {}

        public init(kind: InterruptionKind) { self.kind = kind }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("kind", &kind) }
    }

    /// Some conditions of a device changed; the rest stays as it was.
    public struct ConditionsChanged: EventData {
        public static let type = "lifecycle.conditions.changed"
        public static let summary = "Some conditions of a device changed; the rest stays as it was."

        /// Only what was reported.
        public var conditions: Conditions = .placeholder

        public init() {}

        public init(conditions: Conditions) {
            self.conditions = conditions
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("conditions", &conditions)
        }
    }

    /// Background App Refresh became another for an app, by a switch, a restriction or Low Power Mode.
    public struct BackgroundRefreshChanged: EventData {
        public static let type = "lifecycle.backgroundRefresh.changed"
        public static let summary =
            "Background App Refresh became another for an app, by a switch, a restriction or Low Power Mode."

        public var app: String?
        public var status: BackgroundRefreshStatus = .placeholder

        public init() {}

        public init(app: String, status: BackgroundRefreshStatus) {
            self.app = app
            self.status = status
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("status", &status)
        }
    }

    /// The user changed a setting, of an app or of the whole device.
    public struct SettingsChanged: EventData {
        public static let type = "lifecycle.settings.changed"
        public static let summary = "The user changed a setting, of an app or of the whole device."

        /// The app; nil for the whole device.
        public var app: String?
        /// All of them, as they are now.
        public var settings: Settings = .placeholder

        public init() {}

        public init(app: String? = nil, settings: Settings) {
            self.app = app
            self.settings = settings
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("app", &app)
            fields.field("settings", &settings)
        }
    }
}
