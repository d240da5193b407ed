public import Contracts
public import Records

/// A notification that a device shows: in its Notification Center until the user opens it, or another takes its place.
public struct ShownNotification: Record, Equatable {
    public var id = ""
    public var app = ""
    public var collapseID: String?
    public var pushType = PushType.alert

    public init() {}

    init(_ id: String, _ message: PushMessage) {
        self.id = id
        app = message.app
        collapseID = message.collapseID
        pushType = message.pushType
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.omittable("collapseID", &collapseID)
        fields.field("id", &id)
        fields.field("pushType", &pushType)
    }
}
