import Crypto
import Foundation
import NIOHTTP1
import Synchronization
import Testing
import TestSupport

/// A server with Digest authentication, written from the RFC and independent of the client. A test checks it with curl.
final class DigestOrigin: Sendable {
    struct Kind: Sendable, CustomTestStringConvertible {
        /// The value of the `algorithm` field. MD5 is the default without it.
        var algorithm: String?
        var hasQop: Bool
        var testDescription: String { "\(algorithm ?? "none")\(hasQop ? " auth" : "")" }
    }

    static let kinds = [
        Kind(algorithm: nil, hasQop: false), Kind(algorithm: nil, hasQop: true), Kind(algorithm: "MD5", hasQop: true),
        Kind(algorithm: "MD5-sess", hasQop: true), Kind(algorithm: "SHA-256", hasQop: true),
        Kind(algorithm: "SHA-256", hasQop: false), Kind(algorithm: "SHA-256-sess", hasQop: true),
    ]
    static let password = "Circle of \"Life\", 100%"
    private static let realm = "http-auth@example.org"
    private static let opaque = "FQhe/qaU925kfnzjCev0"

    private let kind: Kind
    private let uses: Int
    /// The number of uses of each nonce.
    private let nonces = Mutex<[String: Int]>([:])

    init(_ kind: Kind, usesOfANonce uses: Int = .max) {
        self.kind = kind
        self.uses = uses
    }

    func answer(_ request: CannedRequest) -> String {
        guard let header = request.headers.first(name: "Authorization"), header.hasPrefix("Digest ") else {
            return refusal()
        }
        var fields: [String: String] = [:]
        for match in header.matches(of: /([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))/) {
            fields[String(match.1)] = String(match.2 ?? match.3 ?? "")
        }
        guard fields["username"] == "Mufasa", fields["realm"] == Self.realm, fields["opaque"] == Self.opaque,
            fields["uri"] == request.path, let nonce = fields["nonce"], fields["algorithm"] == kind.algorithm,
            let count = nonces.withLock({ $0[nonce] }), fields["response"] == response(request, fields)
        else { return refusal() }
        guard count < uses else { return refusal(stale: true) }
        if kind.hasQop {
            guard let number = fields["nc"].flatMap({ Int($0, radix: 16) }), number == count + 1 else {
                return refusal()
            }
        }
        nonces.withLock { $0[nonce] = count + 1 }
        return ok("in")
    }

    private func response(_ request: CannedRequest, _ fields: [String: String]) -> String {
        let (nonce, cnonce) = (fields["nonce"] ?? "", fields["cnonce"] ?? "")
        var ha1 = hash("Mufasa:\(Self.realm):\(Self.password)")
        if kind.algorithm?.hasSuffix("-sess") == true { ha1 = hash("\(ha1):\(nonce):\(cnonce)") }
        let ha2 = hash("\(request.method):\(request.path)")
        guard kind.hasQop else { return hash("\(ha1):\(nonce):\(ha2)") }
        return hash("\(ha1):\(nonce):\(fields["nc"] ?? ""):\(cnonce):\(fields["qop"] ?? ""):\(ha2)")
    }

    private func hash(_ text: String) -> String {
        let bytes =
            kind.algorithm?.hasPrefix("SHA-256") == true
            ? Array(SHA256.hash(data: Data(text.utf8))) : Array(Insecure.MD5.hash(data: Data(text.utf8)))
        return bytes.map { String(format: "%02x", $0) }.joined()
    }

    private func refusal(stale: Bool = false) -> String {
        let nonce = UUID().uuidString
        nonces.withLock { $0[nonce] = 0 }
        var field = #"Digest realm="\#(Self.realm)", nonce="\#(nonce)", opaque="\#(Self.opaque)""#
        if let algorithm = kind.algorithm { field += ", algorithm=\(algorithm)" }
        if kind.hasQop { field += #", qop="auth""# }
        if stale { field += ", stale=true" }
        return "HTTP/1.1 401 No\r\nWWW-Authenticate: \(field)\r\nContent-Length: 3\r\n\r\nout"
    }
}
