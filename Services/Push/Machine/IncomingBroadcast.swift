public import Contracts
public import Records
public import Timeline

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
