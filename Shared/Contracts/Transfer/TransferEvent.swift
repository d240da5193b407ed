public import Records

/// The events of `transfer`: how bytes move while apps sleep. Source: `transfer`.
public enum TransferEvent: EventFamily {
    case wakeRequested(WakeRequested)

    public static let source = "transfer"

    public static let catalogue: [EventKind<TransferEvent>] = [EventKind(TransferEvent.wakeRequested)]

    public var data: any EventData {
        switch self {
        case .wakeRequested(let data): data
        }
    }

    /// A background session has events for its app, which is not in the foreground.
    public struct WakeRequested: EventData {
        public static let type = "transfer.wake.requested"
        public static let summary = "A background session has events for its app, which is not in the foreground."

        public var app: String?
        /// The session's identifier, as the app chose it.
        public var session = ""

        public init() {}

        public init(app: String, session: String) {
            self.app = app
            self.session = session
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("session", &session)
        }
    }
}
