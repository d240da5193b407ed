public import Records

extension PushEvent {
    /// An app got its device token.
    public struct TokenRegistered: EventData {
        public static let type = "push.token.registered"

        public var app: Nullable<String>
        public var environment: PushEnvironment = .sandbox
        /// 64 hexadecimal digits.
        public var token: String
    }

    /// A device token is void: providers are told so.
    public struct TokenUnregistered: EventData {
        public static let type = "push.token.unregistered"

        public var app: Nullable<String>
        public var cause: TokenEnd = .unregistered
        public var environment: PushEnvironment = .sandbox
        public var token: String
    }
}
