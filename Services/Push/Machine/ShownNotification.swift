public import Contracts
public import Records

/// A notification in the Notification Center of a device, until the user opens it or another one replaces it.
public struct ShownNotification: Record, Equatable {
    /// The `apns-unique-id`.
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
