public import Contracts
public import Records
public import Timeline

/// What devices, providers and operators ask of `push`.
public enum PushCommand: Sendable, Equatable {
    /// An app asks for its device token, and may say which broadcast channels it wants to hear from now on.
    case register(app: String, PushEnvironment, channels: [String]? = nil)
    case unregister(app: String)
    /// A provider sent a notification that keeps the rules of the endpoint.
    case receive(IncomingPush)
    /// A provider sent a notification to a channel, and this device may be subscribed to it.
    case receiveBroadcast(IncomingBroadcast)
    /// A broadcast channel is gone that an app may hear.
    case forgetChannel(app: String, channel: String)
    /// A device opened its stream.
    ///
    /// - Parameter holder: the process that holds it.
    case connect(connection: String, holder: String? = nil)
    case disconnect(connection: String, ConnectionEnd = .closed)
    /// A device without a stream asked what there is; it counts as connected until it fails to ask again.
    ///
    /// - Parameter connection: used where it was not connected by polling.
    case poll(connection: String, wait: Interval)
    case acknowledge(notification: String)
    /// The user opened a notification.
    case open(notification: String)
    /// The heartbeat of the connection: a moment at which held notifications may ride.
    case keepAlive
    /// Switches the silent budget of the device on or off, as an attached debugger does.
    case setThrottle(Bool)
}

/// A notification at the door of its device.
public struct IncomingPush: Sendable, Equatable {
    public var token: String
    /// The bundle identifier: the topic without the suffix of its type.
    public var app: String
    public var topic: String
    public var pushType: PushType
    /// The environment of the endpoint that took it.
    public var environment: PushEnvironment
    public var apnsID: String
    /// `apns-unique-id`.
    public var notification: String
    public var priority: Int
    public var collapseID: String?
    /// By the suite's clock; nil where the provider left it to policy.
    public var expiration: Instant?
    /// `apns-expiration` was 0: one attempt.
    public var neverStored: Bool
    public var payload: JSON

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
