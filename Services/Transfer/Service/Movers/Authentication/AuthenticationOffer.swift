import Contracts
import Foundation
import NIOHTTP1
import TransferMachine

/// A way to authenticate that a server offers and that is known here.
struct AuthenticationOffer {
    private enum Kind {
        case digest(DigestChallenge)
        case bearer, basic
    }

    /// More of a realm than this is not told to the app.
    private static let longestRealm = 256

    private let kind: Kind
    private let realm: String?
    private let isProxy: Bool

    /// All of an answer, the strongest first.
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
        case "bearer": kind = .bearer
        case "basic": kind = .basic
        default: return nil
        }
        realm = challenge.parameters["realm"]
        self.isProxy = isProxy
    }

    private var strength: Int {
        switch kind {
        case .digest(let challenge): challenge.hash == .sha256 ? 3 : 2
        case .bearer: 1
        case .basic: 0
        }
    }

    /// What the app is asked.
    func challenge(of origin: WebOrigin) -> AuthenticationChallenge {
        var challenge = AuthenticationChallenge()
        switch kind {
        case .digest: challenge.authenticationMethod = .digest
        case .bearer: challenge.authenticationMethod = .bearer
        case .basic: challenge.authenticationMethod = .basic
        }
        challenge.host = origin.host
        challenge.port = origin.port
        challenge.realm = realm.map { String($0.prefix(Self.longestRealm)) }
        challenge.isProxy = isProxy
        return challenge
    }

    /// How to answer; nil for a credential that does not fit.
    func scheme(with credential: Credential) -> AuthenticationScheme? {
        switch (kind, credential) {
        case (.basic, .password(let user, let password)):
            user.contains(":") ? nil : .basic(user: user, password: password)
        case (.digest(let challenge), .password(let user, let password)):
            .digest(DigestAnswer(challenge, user: user, password: password))
        case (.bearer, .bearer(let token)): Self.isToken68(token) ? .bearer(token) : nil
        default: nil
        }
    }

    /// The new nonce, where a server wants nothing but that.
    var renewal: DigestChallenge? {
        guard case .digest(let challenge) = kind, challenge.isStale else { return nil }
        return challenge
    }

    /// RFC 6750 section 2.1.
    private static func isToken68(_ token: String) -> Bool {
        !token.isEmpty
            && token.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || "-._~+/=".utf8.contains($0)
            }
    }
}

/// How requests are authenticated, with all that it needs.
enum AuthenticationScheme {
    case basic(user: String, password: String)
    case bearer(String)
    case digest(DigestAnswer)

    /// The value of the field for one request.
    mutating func authorization(_ method: HTTPMethod, _ target: String) -> String {
        switch self {
        case .basic(let user, let password):
            // RFC 7617; in UTF-8, whether or not the server says that it wants it.
            return "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
        case .bearer(let token): return "Bearer \(token)"
        case .digest(var answer):
            defer { self = .digest(answer) }
            return answer.authorization(method, target)
        }
    }

    /// Takes a new nonce, where that is all that the server wants.
    mutating func renew(_ offer: AuthenticationOffer) -> Bool {
        guard case .digest(var answer) = self, let challenge = offer.renewal else { return false }
        answer.renew(challenge)
        self = .digest(answer)
        return true
    }
}
