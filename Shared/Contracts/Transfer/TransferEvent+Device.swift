public import Records
public import Timeline

extension TransferEvent {
    /// Something about a device became known that bears on its transfers; only what changed is told.
    public struct DeviceNoted: EventData {
        public static let type = "transfer.device.noted"

        public var battery: Battery?
        public var fleet: String?
        public var lowPowerMode: Bool?
        public var network: Network?
        public var poweredOn: Bool?
    }

    /// A device left, with all its sessions.
    public struct DeviceForgotten: EventData {
        public static let type = "transfer.device.forgotten"
    }

    /// An app was installed, or came into another state.
    public struct AppNoted: EventData {
        public static let type = "transfer.app.noted"

        public var app: Nullable<String>
        /// The user ended it in the switcher: nothing launches it until the user does.
        public var forceQuit = false
        public var state: AppPresence = .notRunning
    }

    /// An app is gone, with its sessions.
    public struct AppForgotten: EventData {
        public static let type = "transfer.app.forgotten"

        public var app: Nullable<String>
    }

    /// The service could not be reached for a time: what a device's apps had to say in a limited time may be said that much
    /// later.
    public struct OutageNoted: EventData {
        public static let type = "transfer.outage.noted"

        /// The last moment at which the device could reach the service.
        public var from: Instant
        /// The first moment at which it can again.
        public var until: Instant
    }
}
