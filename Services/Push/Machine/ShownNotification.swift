public import Contracts
public import Records

/// A notification in the Notification Center of a device, until the user opens it or another one replaces it.
public struct ShownNotification: Record, Equatable {
    public var app = ""
    public var collapseID: String?
    /// The `apns-unique-id`.
    public var id = ""
    public var pushType = PushType.alert

    init(_ id: String, _ message: PushMessage) {
        self.id = id
        app = message.app
        collapseID = message.collapseID
        pushType = message.pushType
    }
}
