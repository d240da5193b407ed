public import Contracts
public import Records
public import Timeline

/// A command of a device, a provider or an operator.
public enum PushCommand: Sendable, Equatable {
    /// Registers an app, which gets a device token.
    ///
    /// - Parameters:
    ///   - activity: the Live Activity, only for a token of the kind `liveactivity`.
    ///   - channels: its broadcast channels, only for the kind `apns`; nil keeps the current ones.
    case register(
        app: String, PushEnvironment, kind: TokenKind = .apns, activity: String? = nil, channels: [String]? = nil)
    /// Invalidates a device token of an app.
    case unregister(app: String, kind: TokenKind = .apns, activity: String? = nil)
    /// Receives a valid notification of a provider.
    case receive(IncomingPush)
    /// Records that APNs refuses a push for the token of this device.
    case refuse(IncomingPush, ConsoleStatus)
    /// Receives a broadcast of a channel to which the device may be subscribed.
    case receiveBroadcast(IncomingBroadcast)
    /// Unsubscribes an app from a deleted channel.
    case forgetChannel(app: String, channel: String)
    /// Connects the device by its own stream, or by the stream of its fleet. The latter changes nothing if the device
    /// has its own connection.
    ///
    /// - Parameters:
    ///   - holder: the process that holds the stream.
    ///   - kind: `stream` or `fleet`.
    case connect(connection: String, holder: String? = nil, kind: ConnectionKind = .stream)
    /// Ends a connection. Does nothing if the device has another one.
    case disconnect(connection: String, ConnectionEnd = .closed)
    /// Polls. The device stays connected until ``PushPolicy/pollGrace`` after the end of the poll.
    ///
    /// - Parameter connection: the id of a new connection, unless the device already polls.
    case poll(connection: String, wait: Interval)
    /// Acknowledges a notification, repeatably.
    case acknowledge(notification: String)
    /// Returns the options of `willPresent` for a notification that arrived while its app was on screen, and
    /// acknowledges it.
    case present(notification: String, options: [PresentationOption])
    /// Returns the content that the service extension of an app made of a notification.
    case modify(notification: String, NotificationContent)
    /// Opens a notification that the device shows.
    case open(notification: String)
    /// Responds to a notification that the device shows, as its user.
    case respond(notification: String, NotificationResponse)
    /// Sets the notification categories of a running app.
    case setCategories(app: String, [NotificationCategory])
    /// Sends the heartbeat of the connection, which releases held notifications.
    case keepAlive
    /// Switches the silent budget of the device on or off, as an attached debugger does.
    case setThrottle(Bool)
    /// Starts a Live Activity of an app on screen.
    case startActivity(app: String, activity: String, LiveActivityRequest)
    /// Changes the content of a Live Activity.
    case updateActivity(app: String, activity: String, contentState: JSON, staleDate: Instant? = nil)
    /// Ends a Live Activity.
    ///
    /// - Parameters:
    ///   - contentState: the final content; nil keeps the current one.
    ///   - dismissalDate: the time at which the system removes it, at most four hours from now; nil for four hours.
    case endActivity(app: String, activity: String, contentState: JSON? = nil, dismissalDate: Instant? = nil)
    /// Removes a Live Activity, as a user who swipes it away.
    case dismissActivity(app: String, activity: String)
}

/// A notification that arrives at its device.
public struct IncomingPush: Sendable, Equatable {
    /// The device token, 64 hexadecimal digits.
    public var token: String
    /// The bundle identifier: ``topic`` without the suffix of ``pushType``.
    public var app: String
    /// The `apns-topic`.
    public var topic: String
    /// The `apns-push-type`, named by the provider or derived from the payload.
    public var pushType: PushType
    /// The environment of the provider endpoint.
    public var environment: PushEnvironment
    /// The `apns-id`.
    public var apnsID: String
    /// The `apns-unique-id`.
    public var notification: String
    /// 10, 5 or 1.
    public var priority: Int
    /// The `apns-collapse-id`.
    public var collapseID: String?
    /// In suite time; nil if the provider named none.
    public var expiration: Instant?
    /// Whether `apns-expiration` was 0: one attempt, no storage.
    public var neverStored: Bool
    /// The JSON object of the request body.
    public var payload: JSON

    /// Creates a notification from its members.
    public init(
        token: String, app: String, topic: String, pushType: PushType, environment: PushEnvironment, apnsID: String,
        notification: String, priority: Int, collapseID: String?, expiration: Instant?, neverStored: Bool,
        payload: JSON
    ) {
        self.token = token
        self.app = app
        self.topic = topic
        self.pushType = pushType
        self.environment = environment
        self.apnsID = apnsID
        self.notification = notification
        self.priority = priority
        self.collapseID = collapseID
        self.expiration = expiration
        self.neverStored = neverStored
        self.payload = payload
    }
}

/// A broadcast that arrives at a device.
public struct IncomingBroadcast: Sendable, Equatable {
    /// The bundle identifier.
    public var app: String
    /// The channel id, in Base64.
    public var channel: String
    /// The environment of the provider endpoint.
    public var environment: PushEnvironment
    /// The `apns-request-id` of the provider's request, the same on all devices.
    public var requestID: String
    /// 10, 5 or 1.
    public var priority: Int
    /// In suite time; nil if the provider named none.
    public var expiration: Instant?
    /// Whether only devices that are online receive it: the channel stores nothing, or `apns-expiration` was 0.
    public var neverStored: Bool
    /// The JSON object of the request body.
    public var payload: JSON

    /// Creates a broadcast from its members.
    public init(
        app: String, channel: String, environment: PushEnvironment, requestID: String, priority: Int,
        expiration: Instant?, neverStored: Bool, payload: JSON
    ) {
        self.app = app
        self.channel = channel
        self.environment = environment
        self.requestID = requestID
        self.priority = priority
        self.expiration = expiration
        self.neverStored = neverStored
        self.payload = payload
    }
}
