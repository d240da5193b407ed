public import Records
public import Timeline

extension TransferEvent {
    /// `transfer` recorded a device or a change of its conditions. The event contains only changed members.
    public struct DeviceUpdated: EventData {
        public static let type = "transfer.device.updated"

        public var battery: Battery?
        public var fleet: String?
        /// Whether a client answers for a built-in device.
        public var hasClient: Bool?
        public var lowPowerMode: Bool?
        public var network: Network?
        public var poweredOn: Bool?
        public var profile: ProfileName?
        /// The behaviour of a built-in device. An event with a profile has the current one, or nil for any other device.
        public var simulate: BuiltInDevice?
    }

    /// A device was removed with all its sessions.
    public struct DeviceRemoved: EventData {
        public static let type = "transfer.device.removed"
    }

    /// An app was installed or its state changed.
    public struct AppUpdated: EventData {
        public static let type = "transfer.app.updated"

        public var app: Nullable<String>
        /// Whether the user force-quit the app. Then only the user can launch it.
        public var forceQuit = false
        public var state: AppPresence = .notRunning
    }

    /// An app was uninstalled with its sessions.
    public struct AppRemoved: EventData {
        public static let type = "transfer.app.removed"

        public var app: Nullable<String>
    }

    /// The service recorded an outage and extended the time limits of a device's apps by its duration.
    public struct OutageRecorded: EventData {
        public static let type = "transfer.outage.recorded"

        /// The last time at which the device could reach the service.
        public var from: Instant
        /// The first time at which the device could reach the service again.
        public var until: Instant
    }
}
