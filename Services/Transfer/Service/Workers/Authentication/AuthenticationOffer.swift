import Contracts
import Crypto
import Foundation
import NIOHTTP1
import TransferCore

/// A supported authentication scheme that a server offers. Other schemes, such as Bearer, ask nothing of the app: the
/// response of the server is the result.
struct AuthenticationOffer {
    private enum Kind {
        case digest(DigestChallenge)
        case basic
    }

    /// The largest number of bytes of a realm. The app gets the hash of a longer one.
    private static let longestRealm = 256

    private let kind: Kind
    private let realm: String?
    private let isProxy: Bool

    /// Returns all offers of a response, the strongest first.
    static func all(in headers: HTTPHeaders, isProxy: Bool) -> [AuthenticationOffer] {
        HTTPChallenge.parse(headers[isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"])
            .compactMap { AuthenticationOffer($0, isProxy: isProxy) }
            .enumerated().sorted { ($1.element.strength, $0.offset) < ($0.element.strength, $1.offset) }
            .map(\.element)
    }

    private init?(_ challenge: HTTPChallenge, isProxy: Bool) {
        switch challenge.scheme {
        case "digest":
            guard let digest = DigestChallenge(challenge) else { return nil }
            kind = .digest(digest)
        case "basic": kind = .basic
        default: return nil
        }
        realm = challenge.parameters["realm"]
        self.isProxy = isProxy
    }

    private var strength: Int {
        switch kind {
        case .digest(let challenge): challenge.hash == .sha256 ? 2 : 1
        case .basic: 0
        }
    }

    /// Returns the challenge for the app.
    func challenge(of origin: WebOrigin) -> AuthenticationChallenge {
        var challenge = AuthenticationChallenge()
        switch kind {
        case .digest: challenge.authenticationMethod = .digest
        case .basic: challenge.authenticationMethod = .basic
        }
        challenge.host = origin.host
        challenge.port = origin.port
        challenge.realm = realm.map { realm in
            // The hash of a longer realm is as unique.
            realm.utf8.count <= Self.longestRealm
                ? realm : SHA256.hash(data: Data(realm.utf8)).hexadecimal
        }
        challenge.isProxy = isProxy
        return challenge
    }

    /// Returns the scheme with a credential; nil if they do not fit.
    func scheme(with credential: Credential) -> AuthenticationScheme? {
        switch (kind, credential) {
        case (.basic, .password(let user, let password)):
            user.contains(":") ? nil : .basic(user: user, password: password)
        case (.digest(let challenge), .password(let user, let password)):
            .digest(DigestAnswer(challenge, user: user, password: password))
        default: nil
        }
    }

    /// The new nonce, if the server only asks for a request with that.
    var renewal: DigestChallenge? {
        guard case .digest(let challenge) = kind, challenge.isStale else { return nil }
        return challenge
    }
}

/// An authentication scheme with its credential.
enum AuthenticationScheme {
    case basic(user: String, password: String)
    case digest(DigestAnswer)

    /// Returns the value of `Authorization` for one request.
    mutating func authorization(_ method: HTTPMethod, _ target: String) -> String {
        switch self {
        case .basic(let user, let password):
            // RFC 7617. UTF-8, even if the server does not ask for it.
            return "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
        case .digest(var answer):
            defer { self = .digest(answer) }
            return answer.authorization(method, target)
        }
    }

    /// Takes a new nonce if the server only asks for that.
    mutating func renew(_ offer: AuthenticationOffer) -> Bool {
        guard case .digest(var answer) = self, let challenge = offer.renewal else { return false }
        answer.renew(challenge)
        self = .digest(answer)
        return true
    }
}
