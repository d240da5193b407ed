public import Contracts
public import Records
public import Timeline

/// A Live Activity that an app requests: `Activity.request(attributes:content:pushType:)`.
public struct LiveActivityRequest: Sendable, Equatable {
    /// The name of its `ActivityAttributes`.
    public var attributesType: String?
    /// The broadcast channel of its updates: `PushType.channel(_:)`.
    public var channel: String?
    public var contentState: JSON
    /// The environment of its push token and its channel; nil for an activity without a token. Its channel then belongs
    /// to the environment of ``PushedApp/channelEnvironment``.
    public var environment: PushEnvironment?
    public var frequentUpdates: Bool
    public var staleDate: Instant?

    /// Creates a request from its members.
    public init(
        attributesType: String?, channel: String?, contentState: JSON, environment: PushEnvironment?,
        frequentUpdates: Bool, staleDate: Instant?
    ) {
        self.attributesType = attributesType
        self.channel = channel
        self.contentState = contentState
        self.environment = environment
        self.frequentUpdates = frequentUpdates
        self.staleDate = staleDate
    }
}
