public import Contracts
public import Records
public import Timeline

/// A notification that is not settled: on its way, waiting, or with a wake under way.
public struct PushMessage: Record, Equatable {
    /// Where a notification is.
    public enum Place: String, Word {
        /// Just received: within a decision only.
        case received
        /// Sent to the device, which has not acknowledged it.
        case inFlight
        /// In the one slot of its app.
        case stored
        /// In the one slot of its app for a silent one.
        case held
        /// The device has it; its wake is still under way.
        case acknowledged
    }

    /// How far the wake of its app is.
    public enum Wake: String, Word { case none, requested, granted }

    public var app = ""
    public var apnsID = ""
    /// The broadcast channel that it came by.
    public var channel: String?
    public var collapseID: String?
    public var pushType = PushType.alert
    public var priority = 10
    public var payload = JSON.null
    /// Of the payload's text.
    public var bytes = 0
    /// Content-available without alert, sound or badge.
    public var silent = false
    /// Whether the user sees it: what other types bring is for apps and the system.
    public var isForUser = false
    public var neverStored = false
    public var expiresAt = Instant.epoch
    public var place = Place.received
    /// Stored or held: when it goes even if nothing else lets it.
    public var due: Instant?
    /// Waits for power, not for a connection.
    public var waitsForPower = false
    /// The device has acknowledged it, so it is not sent again: a silent one may still wait for its wake.
    public var onDevice = false
    public var fromStorage = false
    public var deliveredAt: Instant?
    public var wake = Wake.none
    /// Whether its wake was charged to the budget.
    public var charged = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("apnsID", &apnsID)
        fields.field("bytes", &bytes)
        fields.omittable("channel", &channel)
        fields.field("charged", &charged)
        fields.omittable("collapseID", &collapseID)
        fields.omittable("deliveredAt", &deliveredAt)
        fields.omittable("due", &due)
        fields.field("expiresAt", &expiresAt)
        fields.field("fromStorage", &fromStorage)
        fields.field("isForUser", &isForUser)
        fields.field("neverStored", &neverStored)
        fields.field("onDevice", &onDevice)
        fields.field("payload", &payload)
        fields.field("place", &place)
        fields.field("priority", &priority)
        fields.field("pushType", &pushType)
        fields.field("silent", &silent)
        fields.field("waitsForPower", &waitsForPower)
        fields.field("wake", &wake)
    }

    /// What it takes of a device's room: beside the payload come its ids and dates.
    var cost: Int { bytes + 256 }

    /// Whether the payload asks for the app to be woken: `content-available: 1`.
    public var contentAvailable: Bool { Self.contentAvailable(payload) }

    static func contentAvailable(_ payload: JSON) -> Bool { payload["aps"]?["content-available"]?.int == 1 }

    /// Content-available without alert, sound or badge, whatever the type says: what a device treats as silent.
    static func isSilent(_ payload: JSON) -> Bool { contentAvailable(payload) && !asksForUser(payload) }

    /// Whether there is something to show, to hear, or to count on the icon.
    private static func asksForUser(_ payload: JSON) -> Bool {
        ["alert", "sound", "badge"].contains { (payload["aps"]?[$0] ?? .null) != .null }
    }

    /// Whether the user's permission is asked: for alerts, and for what is called a background push and has an alert, a sound
    /// or a badge all the same. Silent ones, PushKit's and the system's need none.
    var needsPermission: Bool {
        switch pushType {
        case .alert: !silent
        case .background: Self.asksForUser(payload)
        case .location, .voip, .complication, .fileprovider, .mdm, .liveactivity, .pushtotalk, .widgets, .controls:
            false
        }
    }

    /// Whether the user sees what has this type and payload.
    static func isForUser(_ type: PushType, _ payload: JSON) -> Bool {
        (type == .alert || type == .background) && (payload["aps"]?["alert"] ?? .null) != .null
    }
}
