import Contracts
import Crypto
import PushCore
import Records

/// A key with which providers of a team sign their tokens.
struct ProviderKeyDocument: Record, Equatable {
    var environment = PushEnvironment.sandbox
    var keyID = ""
    /// A P-256 public key in PEM.
    var publicKey = ""
    var teamID = ""
    /// Bundle identifiers; empty for all topics of the team.
    var topics: Defaulted<[String]> = []

    enum Constraints {
        static let keyID: Constraint<String> = .providerIdentifier
        static let publicKey: Constraint<String> = .publicKey
        static let teamID: Constraint<String> = .providerIdentifier
        static let topics: Constraint<[String]> = .count(0...100)
    }
}

extension Constraint where T == String {
    fileprivate static var providerIdentifier: Constraint<String> {
        Constraint("must be ten characters of A-Z 0-9", keywords: [("pattern", "^[A-Z0-9]{10}$")]) {
            isProviderIdentifier($0)
        }
    }

    fileprivate static var publicKey: Constraint<String> {
        Constraint("must be a public key for ES256 (P-256) in PEM") {
            (try? P256.Signing.PublicKey(pemRepresentation: $0)) != nil
        }
    }
}

/// The registration that an app requests: with `registerForRemoteNotifications()` for the kind `apns`, and with PushKit,
/// ActivityKit and other frameworks for the other kinds.
struct RegistrationDocument: Record {
    /// The largest number of channels of an app. Our choice.
    static let channelLimit = 100

    /// The Live Activity of a token of the kind `liveactivity`; nil for other kinds.
    var activity: String?
    /// All broadcast channels of the app from now on, only for the kind `apns`; nil keeps the current ones.
    var channels: [String]?
    var environment: Defaulted<PushEnvironment> = PushEnvironment.sandbox
    var kind: Defaulted<TokenKind> = TokenKind.apns

    enum Constraints {
        static let activity: Constraint<String> = .identifier
        static let channels: Constraint<[String]> = .channels
    }
}

extension Constraint where T == [String] {
    fileprivate static var channels: Constraint<[String]> {
        Constraint(
            "must be at most \(RegistrationDocument.channelLimit) channel ids, each 16 bytes in Base64",
            keywords: [("maxItems", .int(RegistrationDocument.channelLimit))]
        ) { $0.count <= RegistrationDocument.channelLimit && $0.allSatisfy { ChannelID($0)?.isComplete ?? false } }
    }
}

struct TokenDocument: Record {
    /// The Live Activity of the token; nil for other kinds.
    var activity: String?
    var environment = PushEnvironment.sandbox
    var kind = TokenKind.apns
    var token = ""

    init(_ registration: TokenRegistration) {
        activity = registration.activity
        environment = registration.environment
        kind = registration.kind
        token = registration.token
    }
}

/// The active tokens of an app, in the order of registration.
struct TokenList: Record {
    var items: [TokenDocument] = []

    init(_ app: PushedApp) { items = app.tokens.map { TokenDocument($0) } }
}

/// The options with which `willPresent` calls its completion handler.
struct PresentationDocument: Record {
    /// Empty: the device does not show the notification.
    var options: [PresentationOption] = []

    enum Constraints {
        static let options: Constraint<[PresentationOption]> = .count(0...8)
    }
}

/// The categories that an app sets: `setNotificationCategories(_:)`.
struct CategoriesDocument: Record {
    var categories: [NotificationCategory] = []

    enum Constraints {
        static let categories: Constraint<[NotificationCategory]> = .notificationCategories
    }
}

struct ThrottleDocument: Record {
    var enabled = true
}
