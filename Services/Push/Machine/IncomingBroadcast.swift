public import Contracts
public import Records
public import Timeline

/// A notification of a broadcast channel at the door of a device.
public struct IncomingBroadcast: Sendable, Equatable {
    /// The bundle identifier.
    public var app: String
    public var channel: String
    /// The environment of the endpoint that took it.
    public var environment: PushEnvironment
    /// `apns-request-id` of the provider's request: the same on all devices.
    public var requestID: String
    public var priority: Int
    /// By the suite's clock; nil where the provider left it to policy.
    public var expiration: Instant?
    /// For devices that are online now: the channel stores nothing, or `apns-expiration` was 0.
    public var neverStored: Bool
    public var payload: JSON

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
