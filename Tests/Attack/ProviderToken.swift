import Crypto
import Foundation
public import Records
import Synchronization

/// The key of a provider, and the token that it signs: a JSON Web Token with ES256 (RFC 7515, RFC 7518 section 3.4).
public final class ProviderToken: Sendable {
    /// APNs accepts a token for an hour, and a renewed one after 20 minutes at the earliest.
    private static let renewal = Duration.seconds(30 * 60)

    /// The id of the team.
    public let team = "TEAMTEAM01"
    /// The id of the key.
    public let keyID = "KEYKEYKEY1"
    private let key = P256.Signing.PrivateKey()
    private let signed = Mutex<(text: String, made: ContinuousClock.Instant)?>(nil)

    /// Creates a key.
    public init() {}

    /// The body of `POST /v1/provider-keys`, which registers the key for the sandbox.
    public var registration: JSON {
        [
            "keyID": .string(keyID), "teamID": .string(team), "environment": "sandbox",
            "publicKey": .string(key.publicKey.pemRepresentation),
        ]
    }

    /// The token. It is renewed every 30 minutes.
    public var text: String {
        signed.withLock { signed in
            if let signed, signed.made.duration(to: .now) < Self.renewal { return signed.text }
            let text = sign()
            signed = (text, .now)
            return text
        }
    }

    private func sign() -> String {
        let head = #"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8.inBase64URL
        let claims = #"{"iss":"\#(team)","iat":\#(Int(Date().timeIntervalSince1970))}"#.utf8.inBase64URL
        let signature = try? key.signature(for: Data("\(head).\(claims)".utf8)).rawRepresentation
        return "\(head).\(claims).\((signature ?? Data()).inBase64URL)"
    }
}

extension Sequence<UInt8> {
    /// The bytes as Base64 with the alphabet for URLs and without padding (RFC 7515 section 2).
    var inBase64URL: String {
        Data(self).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
