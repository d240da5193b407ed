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
    private let keys: Mutex<JWTKeyCollection>
    private let clock: any SuiteClock

    public init(clock: any SuiteClock = RealClock()) {
        keys = Mutex(JWTKeyCollection())
        self.clock = clock
    }

    /// Trusts these keys from now on, and no others.
    ///
    /// - Parameter pems: public keys (P-256) in PEM, by their ids.
    /// - Throws: where one is no such key; the keys stay as they were.
    public func trust(_ pems: [String: String]) async throws {
        let fresh = JWTKeyCollection()
        for (id, pem) in pems { try await fresh.add(ecdsa: ES256PublicKey(pem: pem), kid: JWKIdentifier(string: id)) }
        keys.withLock { $0 = fresh }
    }

    /// What the token says; nil where it is not signed by a trusted key, is expired, or is issued more than a minute ahead.
    public func claims(of token: String) async -> TokenClaims? {
        let trusted = keys.withLock { $0 }
        guard let claims = try? await trusted.verify(token, as: Payload.self).claims else { return nil }
        let now = Int(clock.now.milliseconds / 1000)
        guard claims.iss == DeviceTokens.issuer, claims.exp > now, claims.iat <= now + 60 else { return nil }
        return claims
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
