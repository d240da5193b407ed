public import Contracts
public import Records
public import Timeline

/// An unsettled notification: in flight, waiting, or with a wake in progress. Members are those of ``IncomingPush``.
public struct PushMessage: Record, Equatable {
    /// The state of an unsettled notification.
    public enum Stage: String, WireEnum {
        /// Just received, only within a decision.
        case received
        /// Sent, but not acknowledged.
        case inFlight
        /// In the storage slot of its app or channel.
        case stored
        /// In the slot of its app for held silent notifications.
        case held
        /// Acknowledged, with a wake in progress.
        case acknowledged
    }

    /// The progress of the wake of its app.
    public enum Wake: String, WireEnum { case none, requested, granted }

    /// The progress of the service extension of its app. It runs once; a delivery that is repeated without an end runs
    /// it again.
    public enum ServiceExtension: String, WireEnum { case none, running, ended }

    /// The Live Activity of its token; nil for other kinds.
    public var activity: String?
    public var app = ""
    public var apnsID = ""
    /// The number for the icon of the app; nil keeps the current one.
    public var badge: Int?
    /// The size of the payload as JSON text.
    public var bytes = 0
    /// The category of the alert; nil without one.
    public var category: String?
    /// The channel of a broadcast.
    public var channel: String?
    /// Whether its wake was charged to the silent budget, or its delivery to the budget of its Live Activity.
    public var charged = false
    public var collapseID: String?
    /// The time of the last delivery.
    public var deliveredAt: Instant?
    /// The latest time at which a stored or held notification is sent.
    public var due: Instant?
    /// The time until which the service extension of its app may change the content, while the extension runs.
    public var extensionDeadline: Instant?
    /// The time at which a waiting notification is discarded.
    public var expiresAt = Instant.epoch
    /// Whether the last delivery was from storage.
    public var fromStorage = false
    /// Whether the device shows it to the user; other types are for apps and the system.
    public var isForUser = false
    /// Whether the device has shown it already. Its wake may still be in progress.
    public var isPresented = false
    /// The interruption level of its payload.
    public var interruptionLevel = InterruptionLevel.active
    /// The kind of its device token.
    public var kind = TokenKind.apns
    /// Whether it needs the user's permission. The payload decides, which an acknowledgement drops.
    public var needsPermission = false
    public var neverStored = false
    /// Whether the device has acknowledged it. Then it is not sent again, but a silent one may wait for its wake.
    public var onDevice = false
    public var payload = JSON.null
    /// Its state.
    public var stage = Stage.received
    public var priority = 10
    public var pushType = PushType.alert
    /// Whether the last delivery was quiet: the device neither lights up its screen nor plays a sound.
    public var quiet = false
    /// `relevance-score`, from 0 to 1; nil without one.
    public var relevanceScore: Double?
    /// The progress of the service extension of its app.
    public var serviceExtension = ServiceExtension.none
    /// Whether the payload has content-available without alert, sound or badge.
    public var silent = false
    /// The time of the scheduled summary for which the device holds it; nil if the device shows it at once.
    public var summaryAt: Instant?
    /// `thread-id`; nil without one.
    public var threadID: String?
    /// Whether it waits for power, not for a connection.
    public var waitsForPower = false
    /// The wake of its app.
    public var wake = Wake.none
    /// Whether its app was on screen at the delivery, so that `willPresent` decides whether the device shows it.
    public var willPresent = false

    /// The bytes that count against the backlog: the payload, the category, and 256 for ids and dates.
    var cost: Int { bytes + 256 + (category?.utf8.count ?? 0) + (threadID?.utf8.count ?? 0) }

    /// Returns the category of a payload. A longer one can't be a category of the app.
    static func category(_ payload: JSON) -> String? {
        payload["aps"]?["category"]?.string.flatMap { (1...128).contains($0.unicodeScalars.count) ? $0 : nil }
    }

    /// Whether the payload requests a wake of the app: `content-available: 1`.
    public var contentAvailable: Bool { Self.contentAvailable(payload) }

    static func contentAvailable(_ payload: JSON) -> Bool { payload["aps"]?["content-available"]?.int == 1 }

    /// Returns whether a device treats a notification as silent: content-available without alert, sound or badge. Pushes
    /// of PushKit and of the system are never silent, so no budget applies to them.
    static func isSilent(_ type: PushType, _ payload: JSON) -> Bool {
        (type == .alert || type == .background) && contentAvailable(payload) && !asksForUser(payload)
    }

    /// Whether a service extension may change it: an alert with `mutable-content: 1`.
    var isMutable: Bool { isForUser && payload["aps"]?["mutable-content"]?.int == 1 }

    /// Whether it is on the device and waits for nothing but the scheduled summary.
    public var waitsForSummary: Bool {
        stage == .acknowledged && summaryAt != nil && serviceExtension != .running
    }

    /// Returns whether the payload has an alert, a sound or a badge.
    private static func asksForUser(_ payload: JSON) -> Bool {
        ["alert", "sound", "badge"].contains { (payload["aps"]?[$0] ?? .null) != .null }
    }

    /// Whether it requests a wake of its app: a call, audio of Push to Talk, or an alert or background push with
    /// `content-available: 1`. Other types with `content-available` wake nothing: our choice.
    var wakesApp: Bool { isForApp || (pushType == .alert || pushType == .background) && contentAvailable }

    /// Whether it arrives with its acknowledgement. An alert arrives if the device shows it then, and a silent
    /// notification when its handler starts.
    var arrivesAcknowledged: Bool {
        if isForUser { return !willPresent && summaryAt == nil && (wake == .none || isPresented) }
        return !silent
    }

    /// Whether nothing is left to do for it after a refused wake: the device has shown it, or it has nothing to show.
    var endsWithRefusal: Bool { isPresented || !silent && !needsPermission && !isForApp }

    /// Whether it always wakes its app, which alone gets it: a call, or audio of Push to Talk.
    var isForApp: Bool { pushType == .voip || pushType == .pushtotalk }

    /// Returns whether a notification needs the user's permission: alerts, and background pushes with an alert, a sound
    /// or a badge. Silent, PushKit and system notifications need none.
    static func needsPermission(_ type: PushType, _ payload: JSON) -> Bool {
        switch type {
        case .alert: !isSilent(type, payload)
        case .background: asksForUser(payload)
        case .location, .voip, .complication, .fileprovider, .mdm, .liveactivity, .pushtotalk, .widgets, .controls:
            false
        }
    }

    /// Returns whether the device shows a notification with this type and payload.
    static func isForUser(_ type: PushType, _ payload: JSON) -> Bool {
        (type == .alert || type == .background) && (payload["aps"]?["alert"] ?? .null) != .null
    }
}

/// A notification in the Notification Center of a device, until the user opens it or another one replaces it.
public struct ShownNotification: Record, Equatable {
    public var app = ""
    /// The number that it set on the icon of the app; nil if it kept the current one.
    public var badge: Int?
    public var category: String?
    public var collapseID: String?
    /// The `apns-unique-id`.
    public var id = ""
    /// The interruption level of its payload.
    public var interruptionLevel = InterruptionLevel.active
    public var pushType = PushType.alert
    /// Whether it came without lighting up the screen or a sound.
    public var quiet = false
    /// `relevance-score`, by which a summary sorts the notifications of an app.
    public var relevanceScore: Double?
    /// `thread-id`, which groups notifications.
    public var threadID: String?

    /// - Parameter settings: the user's settings for the app.
    init(_ id: String, _ message: PushMessage, _ settings: NotificationSettings) {
        self.id = id
        app = message.app
        badge = settings.badge == .on ? message.badge : nil
        interruptionLevel = message.interruptionLevel
        relevanceScore = message.relevanceScore
        threadID = message.threadID
        category = message.category
        collapseID = message.collapseID
        pushType = message.pushType
        quiet = message.quiet
    }
}
