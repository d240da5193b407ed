import Records
public import Timeline

extension PushEvent {
    /// A device opened its connection for notifications.
    public struct DeviceConnected: EventData {
        public static let type = "push.device.connected"

        public var connection: String
        /// The UUID of the process that holds the stream.
        public var holder: String?
        public var kind: ConnectionKind = .stream
        /// The time at which a polling device becomes disconnected unless it polls again.
        public var until: Instant?
    }

    /// A polling device polled again.
    public struct DevicePolled: EventData {
        public static let type = "push.device.polled"

        public var connection: String
        /// The time at which the device becomes disconnected unless it polls again.
        public var until: Instant
    }

    /// The connection of a device ended. Notifications without an acknowledgement are stored again.
    public struct DeviceDisconnected: EventData {
        public static let type = "push.device.disconnected"

        public var cause: ConnectionEnd = .closed
        public var connection: String
    }
}
