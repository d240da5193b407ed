public import Records
public import Timeline

extension LifecycleEvent {
    /// A device was registered. It is powered on, unlocked, on Wi-Fi and fully charged.
    public struct DeviceRegistered: EventData {
        public static let type = "lifecycle.device.registered"

        public var registration: Registration
    }

    /// The registration data of a device changed.
    public struct DeviceUpdated: EventData {
        public static let type = "lifecycle.device.updated"

        public var registration: Registration
    }

    /// A device was deregistered with all its apps.
    public struct DeviceDeregistered: EventData {
        public static let type = "lifecycle.device.deregistered"
    }

    /// The history of a device is to be erased: all its events up to this one, and the reactions of the services to them.
    public struct DeviceErased: EventData {
        public static let type = "lifecycle.device.erased"
    }

    /// The access tokens of a device were revoked.
    public struct DeviceRevoked: EventData {
        public static let type = "lifecycle.device.revoked"
    }

    /// A client opened the stream of orders of a built-in device. The client answers the orders from now on.
    public struct DeviceTakenOver: EventData {
        public static let type = "lifecycle.device.takenOver"

        /// The id of the stream.
        public var client: String
    }

    /// The client of a built-in device closed its stream of orders. The suite answers the orders again.
    public struct DeviceGivenBack: EventData {
        public static let type = "lifecycle.device.givenBack"

        /// The id of the stream.
        public var client: String
    }

    /// A device was switched on, switched off or restarted. Earlier events report the ends of its processes.
    public struct DevicePowered: EventData {
        public static let type = "lifecycle.device.powered"

        public var power: PowerEvent
    }

    /// A device woke up or extended the time that it stays awake.
    public struct DeviceAwoke: EventData {
        public static let type = "lifecycle.device.awoke"

        public var cause: AwakeCause
        /// The earliest time at which the device may sleep.
        public var until: Instant
    }

    /// A locked device fell asleep. From iOS 7, the time of background tasks stops meanwhile.
    public struct DeviceSlept: EventData {
        public static let type = "lifecycle.device.slept"
    }

    /// A call, a text, an email or another alert interrupted the user.
    public struct DeviceInterrupted: EventData {
        public static let type = "lifecycle.device.interrupted"

        public var kind: InterruptionKind
    }

    /// Some conditions of a device changed.
    public struct ConditionsChanged: EventData {
        public static let type = "lifecycle.conditions.changed"

        /// The reported conditions. A missing member did not change.
        public var conditions: Conditions
    }

    /// The Background App Refresh status of an app changed because of a switch, a restriction or Low Power Mode.
    public struct BackgroundRefreshChanged: EventData {
        public static let type = "lifecycle.backgroundRefresh.changed"

        public var app: Nullable<String>
        public var status: BackgroundRefreshStatus
    }

    /// The user changed settings of an app or of the whole device.
    public struct SettingsChanged: EventData {
        public static let type = "lifecycle.settings.changed"

        /// The app; nil for the whole device.
        public var app: String?
        /// All settings with their current values.
        public var settings: Settings
    }
}
