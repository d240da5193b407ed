import Contracts
import Crypto
import PushMachine
import Records
import ServiceKit

/// A key that a team's providers sign with.
struct ProviderKeyDocument: Record, Equatable {
    var keyID = ""
    var teamID = ""
    /// PEM, P-256.
    var publicKey = ""
    var environment = PushEnvironment.sandbox
    /// Bundle identifiers; empty for all of the team's.
    var topics: [String] = []

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("environment", &environment)
        fields.field("keyID", &keyID, .providerIdentifier)
        fields.field("publicKey", &publicKey, .publicKey)
        fields.field("teamID", &teamID, .providerIdentifier)
        fields.defaulted("topics", &topics, .count(0...100))
    }
}

extension Rule where T == String {
    fileprivate static var providerIdentifier: Rule<String> {
        Rule("must have ten of A-Z 0-9", keywords: [("pattern", "^[A-Z0-9]{10}$")]) { isProviderIdentifier($0) }
    }

    fileprivate static var publicKey: Rule<String> {
        Rule("must be a public key for ES256 (P-256) in PEM") {
            (try? P256.Signing.PublicKey(pemRepresentation: $0)) != nil
        }
    }
}

struct ProviderKeyList: Record {
    var items: [ProviderKeyDocument] = []
    var next: String?

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}

/// What an app asks for with `registerForRemoteNotifications()`.
struct RegistrationDocument: Record {
    /// So many channels an app may hear. Our choice.
    static let channelLimit = 100

    /// The broadcast channels that it hears from now on; nil leaves them as they are.
    var channels: [String]?
    var environment = PushEnvironment.sandbox

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("channels", &channels, .channels)
        fields.defaulted("environment", &environment)
    }
}

extension Rule where T == [String] {
    fileprivate static var channels: Rule<[String]> {
        Rule(
            "must have up to \(RegistrationDocument.channelLimit) channel ids, each 16 bytes in Base64",
            keywords: [("maxItems", .int(RegistrationDocument.channelLimit))]
        ) { $0.count <= RegistrationDocument.channelLimit && $0.allSatisfy { ChannelID($0)?.isComplete ?? false } }
    }
}

struct TokenDocument: Record {
    var environment = PushEnvironment.sandbox
    var token = ""

    init() {}

    init(_ registration: TokenRegistration) {
        environment = registration.environment
        token = registration.token
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("environment", &environment)
        fields.field("token", &token)
    }
}

struct ThrottleDocument: Record {
    var enabled = true

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("enabled", &enabled) }
}
