public import Records

extension PushEvent {
    /// An app changed its subscriptions to broadcast channels.
    public struct ChannelsChanged: EventData {
        public static let type = "push.channels.changed"

        public var app: Nullable<String>
        /// All channels with a subscription from now on.
        public var channels: [String]
    }
}
