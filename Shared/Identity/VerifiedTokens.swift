import Crypto

/// The claims of verified tokens, by the SHA-256 of the token.
///
/// It has two generations. A full young generation replaces the old one, so an eviction needs no order of use. A look-up
/// moves an entry to the young generation.
struct VerifiedTokens {
    private let limit: Int
    private var young: [SHA256Digest: TokenClaims] = [:]
    private var old: [SHA256Digest: TokenClaims] = [:]

    /// - Parameter limit: the most tokens; an even number.
    init(limit: Int) { self.limit = limit }

    /// The number of tokens.
    var count: Int { young.count + old.count }

    /// Returns the claims of a token; nil if it is unknown.
    mutating func claims(of token: SHA256Digest) -> TokenClaims? {
        if let claims = young[token] { return claims }
        guard let claims = old.removeValue(forKey: token) else { return nil }
        insert(claims, of: token)
        return claims
    }

    /// Adds a verified token.
    mutating func insert(_ claims: TokenClaims, of token: SHA256Digest) {
        if young.count >= limit / 2, young[token] == nil {
            old = young
            young = [:]
        }
        young[token] = claims
    }

    /// Removes a token, which has expired.
    mutating func remove(_ token: SHA256Digest) {
        young[token] = nil
        old[token] = nil
    }
}
