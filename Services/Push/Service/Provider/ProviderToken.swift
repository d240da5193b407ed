import Crypto
import Foundation
import Identity
import Records
import Timeline

/// A key with which providers of a team sign their tokens.
struct ProviderKey: Sendable {
    var keyID: String
    var teamID: String
    var environment: String
    /// Bundle identifiers or topics; empty for all topics of the team.
    var topics: [String]
    let publicKey: P256.Signing.PublicKey
    /// The raw representation, for comparing keys.
    let point: Data

    init(keyID: String, teamID: String, environment: String, topics: [String], publicKey: P256.Signing.PublicKey) {
        self.keyID = keyID
        self.teamID = teamID
        self.environment = environment
        self.topics = topics
        self.publicKey = publicKey
        point = publicKey.rawRepresentation
    }
}

/// A provider's token: a JSON Web Token (RFC 7519) signed with ES256.
///
/// Parsed without the JWT library: one algorithm, four members and no suspension keep ``ProviderSession`` a plain
/// value.
struct ProviderToken: Sendable {
    let text: String
    /// `kid`.
    let keyID: String
    /// `iss`.
    let teamID: String
    /// `iat`, real seconds since 1970.
    let issuedAt: Int
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Parses header, claims and signature; nil if any is malformed. Does not verify the signature.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 4096, parts.count == 3, let header = Self.json(parts[0]),
            let claims = Self.json(parts[1]), let signature = [UInt8](base64URL: parts[2]), signature.count == 64,
            header["alg"]?.string == "ES256", let keyID = header["kid"]?.string, isProviderIdentifier(keyID),
            let teamID = claims["iss"]?.string, isProviderIdentifier(teamID),
            let issuedAt = claims["iat"].flatMap(Self.seconds)
        else { return nil }
        self.text = text
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    /// Returns the seconds of a NumericDate: a number, perhaps with a fraction (RFC 7519 section 2).
    ///
    /// Apple documents a number ("Establishing a token-based connection to APNs"). kalyke, a client for APNs, sends a
    /// string of digits. The service accepts both.
    private static func seconds(_ time: JSON) -> Int? {
        guard let digits = time.string else { return time.double.flatMap { Int(exactly: $0.rounded(.down)) } }
        guard (1...15).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(digits)
    }

    private static func json(_ part: Substring) -> JSON? {
        [UInt8](base64URL: part).flatMap { try? JSON(received: $0) }
    }
}

/// Returns whether the text is an Apple key or team id: ten characters of A-Z and 0-9.
func isProviderIdentifier(_ text: String) -> Bool {
    text.utf8.count == 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
}
