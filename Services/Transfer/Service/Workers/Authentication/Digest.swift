import Contracts
import Crypto
import Foundation
import NIOHTTP1

/// A challenge for Digest authentication (RFC 7616 section 3.3).
struct DigestChallenge: Equatable {
    enum Hash { case md5, sha256 }

    var realm: String
    var nonce: String
    var opaque: String?
    var hash = Hash.md5
    /// The server's text; nil without one.
    var algorithm: String?
    /// `-sess`: the hash of the password includes the nonces of server and client.
    var isSession = false
    /// `qop=auth`. Without it, the answer has the form of RFC 2069.
    var protectsReplay = false
    /// The credential is right, but the nonce is too old.
    var isStale = false

    /// - Returns: nil for an unsupported challenge: another algorithm, or `auth-int` alone.
    init?(_ challenge: HTTPChallenge) {
        let parameters = challenge.parameters
        guard let realm = parameters["realm"], let nonce = parameters["nonce"] else { return nil }
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        algorithm = parameters["algorithm"]
        switch algorithm?.uppercased() ?? "MD5" {
        case "MD5": break
        case "MD5-SESS": isSession = true
        case "SHA-256": hash = .sha256
        case "SHA-256-SESS": (hash, isSession) = (.sha256, true)
        default: return nil
        }
        if let qop = parameters["qop"] {
            let offered = qop.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
            guard offered.contains("auth") else { return nil }
            protectsReplay = true
        }
        isStale = parameters["stale"]?.lowercased() == "true"
    }
}

/// The answers to a Digest challenge, for any number of requests with its nonce.
struct DigestAnswer {
    private let user: String
    private let password: String
    private var challenge: DigestChallenge
    private let clientNonce: String
    private var count = 0

    init(
        _ challenge: DigestChallenge, user: String, password: String,
        clientNonce: String = UUID.random().uuidString
    ) {
        self.challenge = challenge
        self.user = user
        self.password = password
        self.clientNonce = clientNonce
    }

    mutating func renew(_ challenge: DigestChallenge) {
        self.challenge = challenge
        count = 0
    }

    /// Returns the value of `Authorization` (RFC 7616 section 3.4).
    mutating func authorization(_ method: HTTPMethod, _ target: String) -> String {
        count += 1
        let digits = String(count, radix: 16)
        let nonceCount = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        var secret = hash("\(user):\(challenge.realm):\(password)")
        if challenge.isSession { secret = hash("\(secret):\(challenge.nonce):\(clientNonce)") }
        let request = hash("\(method.rawValue):\(target)")
        let middle = challenge.protectsReplay ? "\(nonceCount):\(clientNonce):auth:" : ""
        let response = hash("\(secret):\(challenge.nonce):\(middle)\(request)")

        var fields = [userField, "realm=\(quoted(challenge.realm))", "uri=\(quoted(target))"]
        if let algorithm = challenge.algorithm { fields.append("algorithm=\(algorithm)") }
        fields.append("nonce=\(quoted(challenge.nonce))")
        if challenge.protectsReplay { fields.append("nc=\(nonceCount)") }
        if challenge.protectsReplay || challenge.isSession { fields.append("cnonce=\(quoted(clientNonce))") }
        if challenge.protectsReplay { fields.append("qop=auth") }
        fields.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { fields.append("opaque=\(quoted(opaque))") }
        return "Digest " + fields.joined(separator: ", ")
    }

    /// The user name, in the form of RFC 8187 if a quoted string can't hold it.
    private var userField: String {
        if user.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return "username=\(quoted(user))" }
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let encoded = user.utf8.map { byte in
            plain.contains(byte) ? String(UnicodeScalar(byte)) : "%" + [byte].hexadecimal.uppercased()
        }
        return "username*=UTF-8''" + encoded.joined()
    }

    private func hash(_ text: String) -> String {
        switch challenge.hash {
        case .md5: Insecure.MD5.hash(data: Data(text.utf8)).hexadecimal
        case .sha256: SHA256.hash(data: Data(text.utf8)).hexadecimal
        }
    }
}

private func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}
