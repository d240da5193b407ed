import EventLog
public import Postgres
public import Records
public import Timeline

/// Issues the tokens of devices and fleets. Its key is in the database, so all replicas use the same.
public struct TokenIssuer: Sendable {
    /// The service that signs the suite's tokens.
    public static let service = "lifecycle"
    /// The lifetime of a token: 365 days.
    public static let lifetime = Interval(milliseconds: 365 * 24 * 3_600_000)

    /// The role may not read the signing keys of the issuer.
    struct NoSigningKey: Error, CustomStringConvertible {
        let issuer: String

        var description: String {
            "the role of DATABASE_URL can't read the signing keys: connect as dormouse_\(issuer)"
        }
    }

    private let tokens: DeviceTokens

    /// Reads the issuer's key from the database, or creates the first one.
    ///
    /// - Parameter issuer: the service that signs.
    public static func open(_ pool: ConnectionPool, issuer: String) async throws -> TokenIssuer {
        if try await TokenKeys.signing(issuer, pool) == nil {
            let pem = DeviceTokens.newKey()
            // The id is fixed, so that only one of several replicas that start at once adds a key.
            let first = try await DeviceTokens(pem: pem, keyID: "\(issuer)-1")
            try await TokenKeys.add(
                issuer, id: "\(issuer)-1", privateKey: pem, publicKey: first.publicKey, pool)
        }
        guard let key = try await TokenKeys.signing(issuer, pool) else { throw NoSigningKey(issuer: issuer) }
        return TokenIssuer(tokens: try await DeviceTokens(pem: key.privateKey, keyID: key.id))
    }

    /// Issues a token for one device.
    ///
    /// - Parameter position: the head of the device's partition. A later revocation applies to the token.
    public func device(_ device: String, fleet: String, position: Int) async throws -> String {
        try await tokens.issue(
            device: device, fleet: fleet, id: randomIdentifier(), lifetime: Self.lifetime, position: position)
    }

    /// Issues a token that registers and accesses the devices of a fleet.
    public func fleet(_ fleet: String) async throws -> String {
        try await tokens.issue(device: nil, fleet: fleet, id: randomIdentifier(), lifetime: Self.lifetime)
    }

    /// The public key as a JSON Web Key set (RFC 7517).
    public var keySet: JSON { tokens.keySet }

    private func randomIdentifier() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

/// The public keys of tokens, read from the database.
public struct TokenKeyring: Sendable {
    /// Verifies tokens with the keys of the last read.
    public let verifier: DeviceTokenVerifier
    private let reading: FreshReading<Void>

    /// Creates a keyring without keys. ``refresh()`` reads them.
    public init(pool: ConnectionPool, issuer: String) {
        let verifier = DeviceTokenVerifier()
        self.verifier = verifier
        reading = FreshReading(pause: Self.pause) {
            try await verifier.trust(try await TokenKeys.trusted(issuer, pool))
        }
    }

    /// Reads the keys again. Any client can send a token with an unknown key, so all callers share one paced read.
    /// A key that was added before this call is trusted after it.
    ///
    /// - Returns: whether the read succeeded. The caller checks its token again, because the read of another caller may
    ///   have added the key.
    public func refresh() async -> Bool { (try? await reading.value()) != nil }

    private static let pause = Duration.milliseconds(200)
}
