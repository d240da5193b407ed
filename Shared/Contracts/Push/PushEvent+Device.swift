public import Records
public import Timeline

extension PushEvent {
    /// `push` learned of a device, or of what it is.
    public struct DeviceNoted: EventData {
        public static let type = "push.device.noted"

        public var fleet: String?
        public var profile: ProfileName = .ios18
    }

    /// A device left the suite; only its void tokens are remembered.
    public struct DeviceDropped: EventData {
        public static let type = "push.device.dropped"
    }

    /// The conditions of a device that bear on delivery, as they are now.
    public struct ConditionsNoted: EventData {
        public static let type = "push.conditions.noted"

        public var charging: Bool
        public var locked: Bool
        public var lowPowerMode: Bool
        public var network: NetworkKind = .wifi
        public var poweredOn = true
    }

    /// What `push` knows of an installed app, as it is now.
    public struct AppNoted: EventData {
        public static let type = "push.app.noted"

        public var app: Nullable<String>
        /// On screen.
        public var foreground: Bool
        /// Whether the user lets it show any.
        public var notifications: Switch = .on
        /// When the user last opened it, as far as known.
        public var usedAt: Instant?
        /// Whether it declares a mode that lets a notification wake it.
        public var wakes: Bool
    }

    /// An app is gone from a device.
    public struct AppDropped: EventData {
        public static let type = "push.app.dropped"

        public var app: Nullable<String>
    }
}
