public import Records

extension PushEvent {
    /// An app hears other broadcast channels than before.
    public struct ChannelsChanged: EventData {
        public static let type = "push.channels.changed"

        public var app: Nullable<String>
        /// All that it hears from now on.
        public var channels: [String]
    }
}
