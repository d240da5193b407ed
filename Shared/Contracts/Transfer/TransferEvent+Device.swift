public import Records
public import Timeline

extension TransferEvent {
    /// Something about a device became known that bears on its transfers; only what changed is told.
    public struct DeviceNoted: EventData {
        public static let type = "transfer.device.noted"
        public static let summary =
            "Something about a device became known that bears on its transfers; only what changed is told."

        public var fleet: String?
        public var poweredOn: Bool?
        public var battery: Battery?
        public var lowPowerMode: Bool?
        public var network: Network?

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.omittable("battery", &battery)
            fields.omittable("fleet", &fleet)
            fields.omittable("lowPowerMode", &lowPowerMode)
            fields.omittable("network", &network)
            fields.omittable("poweredOn", &poweredOn)
        }
    }

    /// A device left, with all its sessions.
    public struct DeviceForgotten: EventData {
        public static let type = "transfer.device.forgotten"
        public static let summary = "A device left, with all its sessions."

        public init() {}

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {}
    }

    /// An app was installed, or came into another state.
    public struct AppNoted: EventData {
        public static let type = "transfer.app.noted"
        public static let summary = "An app was installed, or came into another state."

        public var app: String?
        public var state = AppPresence.notRunning
        /// The user ended it in the switcher: nothing launches it until the user does.
        public var forceQuit = false

        public init() {}

        public init(app: String, state: AppPresence, forceQuit: Bool = false) {
            self.app = app
            self.state = state
            self.forceQuit = forceQuit
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("forceQuit", &forceQuit)
            fields.field("state", &state)
        }
    }

    /// An app is gone, with its sessions.
    public struct AppForgotten: EventData {
        public static let type = "transfer.app.forgotten"
        public static let summary = "An app is gone, with its sessions."

        public var app: String?

        public init() {}

        public init(app: String) { self.app = app }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("app", &app) }
    }

    /// The service could not be reached for a time: what a device's apps had to say in a limited time may be said that much
    /// later.
    public struct OutageNoted: EventData {
        public static let type = "transfer.outage.noted"
        public static let summary =
            "The service could not be reached for a time: callbacks and challenges of the device have that much longer."

        /// The last moment at which the device could reach the service.
        public var from: Instant = .epoch
        /// The first moment at which it can again.
        public var until: Instant = .epoch

        public init() {}

        public init(from: Instant, until: Instant) {
            self.from = from
            self.until = until
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("from", &from)
            fields.field("until", &until)
        }
    }
}
