import Contracts
public import Records

/// A notification that a device shows: in its Notification Center until the user opens it, or another takes its place.
public struct ShownNotification: Record, Equatable {
    public var id = ""
    public var app = ""
    public var collapseID: String?

    public init() {}

    init(_ id: String, _ message: PushMessage) {
        self.id = id
        app = message.app
        collapseID = message.collapseID
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.omittable("collapseID", &collapseID)
        fields.field("id", &id)
    }
}

extension PushMessage {
    /// Whether the user sees it: what other types bring is for apps and the system.
    var isForUser: Bool { pushType == .alert && (payload["aps"]?["alert"] ?? .null) != .null }
}
