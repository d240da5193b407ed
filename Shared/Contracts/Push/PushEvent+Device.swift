public import Records
public import Timeline

extension PushEvent {
    /// `push` recorded a device or a change of its registration.
    public struct DeviceUpdated: EventData {
        public static let type = "push.device.updated"

        public var fleet: String?
        public var profile: ProfileName = .ios18
    }

    /// A device was removed. `push` keeps only its invalid tokens.
    public struct DeviceRemoved: EventData {
        public static let type = "push.device.removed"
    }

    /// The conditions of a device that affect delivery changed.
    public struct ConditionsChanged: EventData {
        public static let type = "push.conditions.changed"

        public var charging: Bool
        public var locked: Bool
        public var lowPowerMode: Bool
        public var network: NetworkKind = .wifi
        public var poweredOn = true
    }

    /// `push` recorded an installed app or a change of its state.
    public struct AppUpdated: EventData {
        public static let type = "push.app.updated"

        public var app: Nullable<String>
        /// Whether the app is on screen.
        public var foreground: Bool
        /// Whether the user allows notifications of the app.
        public var notifications: Switch = .on
        /// The time at which the user last opened the app; nil if unknown.
        public var usedAt: Instant?
        /// Whether the app declares a background mode that lets a notification wake it.
        public var wakes: Bool
    }

    /// An app was uninstalled from a device.
    public struct AppRemoved: EventData {
        public static let type = "push.app.removed"

        public var app: Nullable<String>
    }
}
