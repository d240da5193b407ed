public import Records

extension PushEvent {
    /// An app hears other broadcast channels than before.
    public struct ChannelsChanged: EventData {
        public static let type = "push.channels.changed"
        public static let summary = "An app hears other broadcast channels than before."

        public var app: String?
        /// All that it hears from now on.
        public var channels: [String] = []

        public init() {}

        public init(app: String?, channels: [String]) {
            self.app = app
            self.channels = channels
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("channels", &channels)
        }
    }
}
