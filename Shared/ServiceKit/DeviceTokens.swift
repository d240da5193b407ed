import JWTKit
public import Records
import Synchronization
public import Timeline

/// What a token says.
public struct TokenClaims: Sendable, Hashable, Codable {
    /// The token's own name.
    public let jti: String
    public let iss: String
    /// The device; nil in a fleet's token.
    public let device: String?
    public let fleet: String
    /// Real seconds since 1970.
    public let iat: Int
    public let exp: Int
    /// How far the log of the device's partition was when the token was issued: a later revocation voids it.
    public let position: Int?

    /// Who presents it.
    public var caller: Caller { device.map { .device($0, fleet: fleet) } ?? .fleet(fleet) }
}

/// The claims as the library wants them.
private struct Payload: JWTPayload {
    let claims: TokenClaims

    init(_ claims: TokenClaims) { self.claims = claims }
    init(from decoder: any Decoder) throws { claims = try TokenClaims(from: decoder) }
    func encode(to encoder: any Encoder) throws { try claims.encode(to: encoder) }

    // The times are held against the injected clock by `DeviceTokenVerifier`.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// Issues the tokens of devices and fleets: ES256 JSON Web Tokens (RFC 7519).
public struct DeviceTokens: Sendable {
    static let issuer = "dormouse"

    private let keys: JWTKeyCollection
    private let key: ES256PrivateKey
    private let keyID: String
    private let clock: any SuiteClock

    /// - Parameters:
    ///   - pem: the private key (P-256) in PEM.
    ///   - keyID: by which verifiers find the public key.
    ///   - clock: real time; tokens do not follow virtual time.
    /// - Throws: where the PEM is no such key.
    public init(pem: String, keyID: String, clock: any SuiteClock = RealClock()) async throws {
        key = try ES256PrivateKey(pem: pem)
        self.keyID = keyID
        self.clock = clock
        keys = JWTKeyCollection()
        await keys.add(ecdsa: key, kid: JWKIdentifier(string: keyID))
    }

    /// A new private key in PEM.
    public static func newKey() -> String { ES256PrivateKey().pemRepresentation }

    /// The public key in PEM, for verifiers.
    public var publicKey: String { key.publicKey.pemRepresentation }

    /// The public key as a JSON Web Key set (RFC 7517).
    public var keySet: JSON {
        guard let parameters = key.parameters else { return ["keys": []] }
        return [
            "keys": [
                [
                    "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": .string(keyID),
                    "x": .string(parameters.x.base64URL), "y": .string(parameters.y.base64URL),
                ]
            ]
        ]
    }

    /// A token of a device, or of its whole fleet where `device` is nil.
    ///
    /// - Parameters:
    ///   - id: the token's own name.
    ///   - position: how far the log of the device's partition is: a later revocation voids the token.
    public func issue(
        device: String?, fleet: String, id: String, lifetime: Interval, position: Int? = nil
    ) async throws -> String {
        let now = Int(clock.now.milliseconds / 1000)
        let claims = TokenClaims(
            jti: id, iss: Self.issuer, device: device, fleet: fleet, iat: now,
            exp: now + Int(lifetime.milliseconds / 1000), position: position)
        return try await keys.sign(Payload(claims), kid: JWKIdentifier(string: keyID))
    }
}

/// Verifies tokens with public keys that may be replaced while it runs.
public final class DeviceTokenVerifier: Sendable {
    /// The most tokens whose claims are remembered. A signature takes a hundred times as long as looking there.
    static let remembered = 10_000

    private struct State {
        var keys = JWTKeyCollection()
        var ids: Set<String> = []
        /// The claims of tokens that one of the keys has signed.
        var verified: [String: TokenClaims] = [:]
    }

    private let state = Mutex(State())
    private let clock: any SuiteClock

    public init(clock: any SuiteClock = RealClock()) { self.clock = clock }

    /// Trusts these keys from now on, and no others.
    ///
    /// - Parameter pems: public keys (P-256) in PEM, by their ids.
    /// - Throws: where one is no such key; the keys stay as they were.
    public func trust(_ pems: [String: String]) async throws {
        let fresh = JWTKeyCollection()
        for (id, pem) in pems { try await fresh.add(ecdsa: ES256PublicKey(pem: pem), kid: JWKIdentifier(string: id)) }
        state.withLock { $0 = State(keys: fresh, ids: Set(pems.keys)) }
    }

    /// Whether a key is trusted.
    func trusts(_ keyID: String) -> Bool { state.withLock { $0.ids.contains(keyID) } }

    /// What the token says; nil where it is not signed by a trusted key, is expired, or is issued more than a minute ahead.
    public func claims(of token: String) async -> TokenClaims? {
        if let known = verifiedClaims(of: token) { return known }
        let keys = state.withLock { $0.keys }
        guard let claims = try? await keys.verify(token, as: Payload.self).claims, isValid(claims) else { return nil }
        state.withLock { state in
            // Not where the keys were replaced meanwhile.
            guard state.keys === keys else { return }
            if state.verified.count >= Self.remembered {
                // Any half: the others need no second look.
                for token in state.verified.keys.prefix(Self.remembered / 2) { state.verified[token] = nil }
            }
            state.verified[token] = claims
        }
        return claims
    }

    /// The claims of a token that was verified before and is still valid.
    func verifiedClaims(of token: String) -> TokenClaims? {
        guard let claims = state.withLock({ $0.verified[token] }), isValid(claims) else { return nil }
        return claims
    }

    private func isValid(_ claims: TokenClaims) -> Bool {
        let now = Int(clock.now.milliseconds / 1000)
        return claims.iss == DeviceTokens.issuer && claims.exp > now && claims.iat <= now + 60
    }
}

/// The id of the key that a token names, read without any verification.
struct TokenHead {
    /// The longest token that is looked at, in bytes. Those that are issued have about 500.
    static let longest = 4096

    let keyID: String

    /// Nil where the text is no JSON Web Token (RFC 7519) that is signed by ES256 and names a key.
    init?(_ token: String) {
        guard token.utf8.count <= Self.longest else { return nil }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }), let bytes = [UInt8](base64URL: parts[0]),
            let header = try? JSON(parsing: bytes), header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string
        else { return nil }
        self.keyID = keyID
    }
}

extension [UInt8] {
    /// The bytes of text in base64url without padding (RFC 4648 section 5); nil where it is none.
    fileprivate init?(base64URL text: Substring.UTF8View) {
        self = []
        reserveCapacity(text.count * 3 / 4)
        var (bits, count): (UInt32, Int) = (0, 0)
        for character in text {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = (bits << 6 | UInt32(value)) & 0xFFFFFF
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
    }
}

extension String {
    /// From Base64 to its URL-safe alphabet without padding (RFC 4648 section 5).
    fileprivate var base64URL: String {
        String(
            compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
