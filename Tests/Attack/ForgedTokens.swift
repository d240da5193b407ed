import Foundation

/// JSON Web Tokens (RFC 7519) of the right form that no service accepts.
///
/// Each one is different, so that no service can know it from an earlier request.
enum ForgedTokens {
    /// Returns a token of a device: with a wrong signature, or of a key that does not exist, in turn.
    ///
    /// - Parameter token: a valid token of the device.
    static func device(like token: String, number: Int) -> String {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return token }
        let unknown = #"{"alg":"ES256","kid":"forged-\#(number)","typ":"JWT"}"#.utf8.inBase64URL
        let head = number.isMultiple(of: 2) ? String(parts[0]) : unknown
        return "\(head).\(parts[1]).\(signature)"
    }

    /// Returns a token of a provider: with a wrong signature, or of a key that does not exist, in turn.
    ///
    /// - Parameter key: the id of a registered key of the team.
    static func provider(of team: String, key: String, number: Int) -> String {
        let id = number.isMultiple(of: 2) ? key : String(format: "FORGED%04d", number % 10_000)
        let head = #"{"alg":"ES256","kid":"\#(id)"}"#.utf8.inBase64URL
        let claims = #"{"iss":"\#(team)","iat":\#(Int(Date().timeIntervalSince1970))}"#.utf8.inBase64URL
        return "\(head).\(claims).\(signature)"
    }

    /// A signature of the right length, with random bytes.
    private static var signature: String { (0..<64).map { _ in UInt8.random(in: 0...255) }.inBase64URL }
}
