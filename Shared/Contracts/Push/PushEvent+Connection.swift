public import Records
public import Timeline

extension PushEvent {
    /// A device opened its connection for notifications.
    public struct DeviceConnected: EventData {
        public static let type = "push.device.connected"
        public static let summary = "A device opened its connection for notifications."

        public var connection: String = ""
        /// The process that holds a stream: a UUID of its own.
        public var holder: String?
        public var kind: ConnectionKind = .stream
        /// When a polling device counts as gone unless it polls again.
        public var until: Instant?

        public init() {}

        public init(connection: String, holder: String? = nil, kind: ConnectionKind, until: Instant? = nil) {
            self.connection = connection
            self.holder = holder
            self.kind = kind
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("connection", &connection)
            fields.omittable("holder", &holder)
            fields.field("kind", &kind)
            fields.omittable("until", &until)
        }
    }

    /// A polling device asked again.
    public struct DevicePolled: EventData {
        public static let type = "push.device.polled"
        public static let summary = "A polling device asked again."

        public var connection: String = ""
        /// When it counts as gone unless it polls again.
        public var until: Instant = .epoch

        public init() {}

        public init(connection: String, until: Instant) {
            self.connection = connection
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("connection", &connection)
            fields.field("until", &until)
        }
    }

    /// The connection of a device ended; what it had not acknowledged is stored again.
    public struct DeviceDisconnected: EventData {
        public static let type = "push.device.disconnected"
        public static let summary = "The connection of a device ended; what it had not acknowledged is stored again."

        public var cause: ConnectionEnd = .closed
        public var connection: String = ""

        public init() {}

        public init(cause: ConnectionEnd, connection: String) {
            self.cause = cause
            self.connection = connection
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("cause", &cause)
            fields.field("connection", &connection)
        }
    }
}
