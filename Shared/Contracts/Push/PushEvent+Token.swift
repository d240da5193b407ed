public import Records

extension PushEvent {
    /// An app got its device token.
    public struct TokenRegistered: EventData {
        public static let type = "push.token.registered"
        public static let summary = "An app got its device token."

        public var app: String?
        public var environment: PushEnvironment = .sandbox
        /// 64 hexadecimal digits.
        public var token: String = ""

        public init() {}

        public init(app: String?, environment: PushEnvironment, token: String) {
            self.app = app
            self.environment = environment
            self.token = token
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("environment", &environment)
            fields.field("token", &token)
        }
    }

    /// A device token is void: providers are told so.
    public struct TokenUnregistered: EventData {
        public static let type = "push.token.unregistered"
        public static let summary = "A device token is void: providers are told so."

        public var app: String?
        public var cause: TokenEnd = .unregistered
        public var environment: PushEnvironment = .sandbox
        public var token: String = ""

        public init() {}

        public init(app: String?, cause: TokenEnd, environment: PushEnvironment, token: String) {
            self.app = app
            self.cause = cause
            self.environment = environment
            self.token = token
        }

        public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("cause", &cause)
            fields.field("environment", &environment)
            fields.field("token", &token)
        }
    }
}
