public import EventLog
import JWTKit
public import Records
import Synchronization
public import Timeline

/// The claims of a token.
public struct TokenClaims: Sendable, Hashable, Codable {
    /// The id of the token.
    public let jti: String
    /// The issuer, always `dormouse`.
    public let iss: String
    /// The device; nil in a fleet's token.
    public let device: String?
    /// The fleet.
    public let fleet: String
    /// The time of issue, in real seconds since 1970.
    public let iat: Int
    /// The expiry, in real seconds since 1970.
    public let exp: Int
    /// The head of the device's partition when the token was issued, or the generation of the fleet's tokens. A later
    /// revocation applies to the token.
    public let position: Int?
    /// The incarnation of the log when the token was issued; nil for the first one. Positions and generations of another
    /// incarnation may be those of other events.
    public let incarnation: String?

    /// The owner of the token, whose tokens are revoked together.
    var subject: TokenSubject { device.map { .device($0) } ?? .fleet(fleet) }

    /// The caller that presents the token.
    public var caller: Caller { device.map { .device($0, fleet: fleet) } ?? .fleet(fleet) }
}

/// The owner of a token.
public enum TokenSubject: Hashable, Sendable {
    case device(String)
    case fleet(String)
}

/// The claims in the form that JWTKit needs.
private struct Payload: JWTPayload {
    let claims: TokenClaims

    init(_ claims: TokenClaims) { self.claims = claims }
    init(from decoder: any Decoder) throws { claims = try TokenClaims(from: decoder) }
    func encode(to encoder: any Encoder) throws { try claims.encode(to: encoder) }

    // `DeviceTokenVerifier` compares the times with its own clock.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// Issues the tokens of devices and fleets: ES256 JSON Web Tokens (RFC 7519).
public struct DeviceTokens: Sendable {
    static let issuer = "dormouse"

    private let keys: JWTKeyCollection
    private let key: ES256PrivateKey
    private let keyID: String
    private let clock: any SuiteClock
    private let incarnation: LogIncarnation

    /// - Parameters:
    ///   - pem: the private key (P-256) in PEM.
    ///   - keyID: the id by which verifiers find the public key.
    ///   - incarnation: that of the log.
    ///   - clock: real time; tokens do not follow virtual time.
    /// - Throws: an error if the PEM is not a P-256 key.
    public init(
        pem: String, keyID: String, incarnation: LogIncarnation = .first, clock: any SuiteClock = RealClock()
    ) async throws {
        key = try ES256PrivateKey(pem: pem)
        self.keyID = keyID
        self.clock = clock
        self.incarnation = incarnation
        keys = JWTKeyCollection()
        await keys.add(ecdsa: key, kid: JWKIdentifier(string: keyID))
    }

    /// Returns a new private key in PEM.
    public static func newKey() -> String { ES256PrivateKey().pemRepresentation }

    /// The public key in PEM, for verifiers.
    public var publicKey: String { key.publicKey.pemRepresentation }

    /// The public key as a JSON Web Key set (RFC 7517).
    public var keySet: JSON { Self.keySet([keyID: publicKey]) }

    /// Returns public keys as a JSON Web Key set (RFC 7517).
    ///
    /// - Parameter pems: public keys (P-256) in PEM, by their ids.
    static func keySet(_ pems: [String: String]) -> JSON {
        let keys = pems.sorted { $0.key < $1.key }.compactMap { id, pem -> JSON? in
            guard let parameters = try? ES256PublicKey(pem: pem).parameters else { return nil }
            return [
                "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": .string(id),
                "x": .string(parameters.x.base64URL), "y": .string(parameters.y.base64URL),
            ]
        }
        return ["keys": .array(keys)]
    }

    /// Issues a token of a device, or of the whole fleet if `device` is nil.
    ///
    /// - Parameters:
    ///   - id: the id of the token.
    ///   - position: the head of the device's partition, or the generation of the fleet's tokens. A later revocation
    ///     applies to the token.
    public func issue(
        device: String?, fleet: String, id: String, lifetime: Interval, position: Int? = nil
    ) async throws -> String {
        let now = Int(clock.now.milliseconds / 1000)
        let claims = TokenClaims(
            jti: id, iss: Self.issuer, device: device, fleet: fleet, iat: now,
            exp: now + Int(lifetime.milliseconds / 1000), position: position,
            incarnation: incarnation.isFirst ? nil : incarnation.id)
        return try await keys.sign(Payload(claims), kid: JWKIdentifier(string: keyID))
    }
}

/// Verifies tokens with public keys that can be replaced at any time.
public final class DeviceTokenVerifier: Sendable {
    /// The most tokens in the cache, about 15 MB. A look-up takes a hundredth of the time of a signature check.
    static let remembered = 50_000

    private struct State {
        var keys = JWTKeyCollection()
        /// The trusted keys in PEM, by their ids.
        var pems: [String: String] = [:]
        var verified = VerifiedTokens(limit: remembered)
    }

    private let state = Mutex(State())
    private let clock: any SuiteClock

    /// Creates a verifier that trusts no key.
    public init(clock: any SuiteClock = RealClock()) { self.clock = clock }

    /// Replaces the trusted keys. If they change, the verifier forgets all verified tokens.
    ///
    /// - Parameter pems: public keys (P-256) in PEM, by their ids.
    /// - Throws: an error if one is not a P-256 key; the trusted keys then stay unchanged.
    public func trust(_ pems: [String: String]) async throws {
        // Any client can cause a read of the keys, which must not empty the cache.
        guard state.withLock({ $0.pems != pems }) else { return }
        let fresh = JWTKeyCollection()
        for (id, pem) in pems { try await fresh.add(ecdsa: ES256PublicKey(pem: pem), kid: JWKIdentifier(string: id)) }
        state.withLock { $0 = State(keys: fresh, pems: pems) }
    }

    /// The ids of the trusted keys.
    var trusted: Set<String> { state.withLock { Set($0.pems.keys) } }

    /// Returns whether the key signs tokens that this verifier accepts.
    public func trusts(_ keyID: String) -> Bool { state.withLock { $0.pems[keyID] != nil } }

    /// Verifies a token and returns its claims.
    ///
    /// - Returns: nil if no trusted key has signed it, if it has expired, or if its time of issue is more than a minute
    ///   ahead.
    public func claims(of token: Credential) async -> TokenClaims? {
        if let known = verifiedClaims(of: token) { return known }
        let keys = state.withLock { $0.keys }
        guard let claims = try? await keys.verify(token.text, as: Payload.self).claims, isValid(claims) else {
            return nil
        }
        state.withLock { state in
            // The keys may have been replaced meanwhile.
            if state.keys === keys { state.verified.insert(claims, of: token.hash) }
        }
        return claims
    }

    /// Returns the claims of a token that was verified before and is still valid.
    public func verifiedClaims(of token: Credential) -> TokenClaims? {
        guard let claims = state.withLock({ $0.verified.claims(of: token.hash) }) else { return nil }
        guard isValid(claims) else {
            state.withLock { $0.verified.remove(token.hash) }
            return nil
        }
        return claims
    }

    /// The number of tokens in the cache.
    var verifiedCount: Int { state.withLock { $0.verified.count } }

    private func isValid(_ claims: TokenClaims) -> Bool {
        let now = Int(clock.now.milliseconds / 1000)
        return claims.iss == DeviceTokens.issuer && claims.exp > now && claims.iat <= now + 60
    }
}

/// The id of a token's key, read without verification.
public struct TokenHead {
    /// The longest accepted token, in bytes. Issued tokens have about 500.
    public static let longest = 4096

    /// The id of the key.
    public let keyID: String

    /// Returns nil if the text is not a JSON Web Token (RFC 7519) with the algorithm ES256 and a key id.
    public init?(_ token: String) {
        guard token.utf8.count <= Self.longest else { return nil }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }), let bytes = [UInt8](base64URL: parts[0]),
            let header = try? JSON(parsing: bytes), header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string
        else { return nil }
        self.keyID = keyID
    }
}
