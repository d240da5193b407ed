public import Records

/// The events of `push`: what became of each notification. Source: `push`.
public enum PushEvent: EventFamily {
    case wakeRequested(WakeRequested)

    public static let source = "push"

    public static let catalogue: [EventKind<PushEvent>] = [EventKind(PushEvent.wakeRequested)]

    public var data: any EventData {
        switch self {
        case .wakeRequested(let data): data
        }
    }

    /// A notification asks for its app to be woken, before anything of it is shown.
    public struct WakeRequested: EventData {
        public static let type = "push.wake.requested"
        public static let summary = "A notification asks for its app to be woken, before anything of it is shown."

        public var app: String?
        /// The notification's `apns-unique-id`: names it in everything that follows.
        public var notification = ""
        /// What the provider sent.
        public var payload: JSON = .null

        public init() {}

        public init(app: String, notification: String, payload: JSON) {
            self.app = app
            self.notification = notification
            self.payload = payload
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("notification", &notification)
            fields.field("payload", &payload)
        }
    }
}
