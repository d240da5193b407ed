public import Records

extension PushEvent {
    /// An app registered and got a device token.
    public struct TokenRegistered: EventData {
        public static let type = "push.token.registered"

        public var app: Nullable<String>
        public var environment: PushEnvironment = .sandbox
        /// The device token, 64 hexadecimal digits.
        public var token: String
    }

    /// A device token became invalid. Providers get `Unregistered` for it.
    public struct TokenUnregistered: EventData {
        public static let type = "push.token.unregistered"

        public var app: Nullable<String>
        public var cause: TokenEnd = .unregistered
        public var environment: PushEnvironment = .sandbox
        public var token: String
    }
}
