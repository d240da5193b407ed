public import Records
public import Timeline

extension PushEvent {
    /// `push` recorded a device or a change of its registration.
    public struct DeviceNoted: EventData {
        public static let type = "push.device.noted"

        public var fleet: String?
        public var profile: ProfileName = .ios18
    }

    /// A device was removed. `push` keeps only its invalid tokens.
    public struct DeviceDropped: EventData {
        public static let type = "push.device.dropped"
    }

    /// The conditions of a device that affect delivery changed.
    public struct ConditionsNoted: EventData {
        public static let type = "push.conditions.noted"

        public var charging: Bool
        public var locked: Bool
        public var lowPowerMode: Bool
        public var network: NetworkKind = .wifi
        public var poweredOn = true
    }

    /// `push` recorded an installed app or a change of its state.
    public struct AppNoted: EventData {
        public static let type = "push.app.noted"

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
    public struct AppDropped: EventData {
        public static let type = "push.app.dropped"

        public var app: Nullable<String>
    }
}
