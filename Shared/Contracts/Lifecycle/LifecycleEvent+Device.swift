public import Records
public import Timeline

extension LifecycleEvent {
    /// A device came under the suite's care: powered on, unlocked, on Wi-Fi, fully charged.
    public struct DeviceRegistered: EventData {
        public static let type = "lifecycle.device.registered"

        public var registration: Registration
    }

    /// A registered device was described anew.
    public struct DeviceUpdated: EventData {
        public static let type = "lifecycle.device.updated"

        public var registration: Registration
    }

    /// A device left, with all its apps.
    public struct DeviceDeregistered: EventData {
        public static let type = "lifecycle.device.deregistered"
    }

    /// The tokens of a device that were issued so far are void.
    public struct DeviceRevoked: EventData {
        public static let type = "lifecycle.device.revoked"
    }

    /// A device was switched on or off, or restarted; what ran has ended before.
    public struct DevicePowered: EventData {
        public static let type = "lifecycle.device.powered"

        public var power: PowerEvent
    }

    /// A device woke, or stays awake for longer.
    public struct DeviceAwoke: EventData {
        public static let type = "lifecycle.device.awoke"

        public var cause: AwakeCause
        /// It does not sleep before, whatever happens to the cause.
        public var until: Instant
    }

    /// A locked device fell asleep: from iOS 7 the clocks of background tasks stand still.
    public struct DeviceSlept: EventData {
        public static let type = "lifecycle.device.slept"
    }

    /// Something drew the user's attention.
    public struct DeviceInterrupted: EventData {
        public static let type = "lifecycle.device.interrupted"

        public var kind: InterruptionKind
    }

    /// Some conditions of a device changed; the rest stays as it was.
    public struct ConditionsChanged: EventData {
        public static let type = "lifecycle.conditions.changed"

        /// Only what was reported.
        public var conditions: Conditions
    }

    /// Background App Refresh became another for an app, by a switch, a restriction or Low Power Mode.
    public struct BackgroundRefreshChanged: EventData {
        public static let type = "lifecycle.backgroundRefresh.changed"

        public var app: Nullable<String>
        public var status: BackgroundRefreshStatus
    }

    /// The user changed a setting, of an app or of the whole device.
    public struct SettingsChanged: EventData {
        public static let type = "lifecycle.settings.changed"

        /// The app; nil for the whole device.
        public var app: String?
        /// All of them, as they are now.
        public var settings: Settings
    }
}
