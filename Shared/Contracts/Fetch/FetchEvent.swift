public import Records

/// The events of `fetch`: when background refreshes happen. Source: `fetch`.
public enum FetchEvent: EventFamily {
    case refreshDue(RefreshDue)

    public static let source = "fetch"

    public static let catalogue: [EventKind<FetchEvent>] = [EventKind(FetchEvent.refreshDue)]

    public var data: any EventData {
        switch self {
        case .refreshDue(let data): data
        }
    }

    /// The moment for a background refresh of an app has come.
    public struct RefreshDue: EventData {
        public static let type = "fetch.refresh.due"
        public static let summary = "The moment for a background refresh of an app has come."

        public var app: String?
        /// Names the refresh in everything that follows from it.
        public var fetch = ""

        public init() {}

        public init(app: String, fetch: String) {
            self.app = app
            self.fetch = fetch
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("fetch", &fetch)
        }
    }
}
