import Records
public import Timeline

extension PushEvent {
    /// A device opened its connection for notifications.
    public struct DeviceConnected: EventData {
        public static let type = "push.device.connected"

        public var connection: String
        /// The process that holds a stream: a UUID of its own.
        public var holder: String?
        public var kind: ConnectionKind = .stream
        /// When a polling device counts as gone unless it polls again.
        public var until: Instant?
    }

    /// A polling device asked again.
    public struct DevicePolled: EventData {
        public static let type = "push.device.polled"

        public var connection: String
        /// When it counts as gone unless it polls again.
        public var until: Instant
    }

    /// The connection of a device ended; what it had not acknowledged is stored again.
    public struct DeviceDisconnected: EventData {
        public static let type = "push.device.disconnected"

        public var cause: ConnectionEnd = .closed
        public var connection: String
    }
}
