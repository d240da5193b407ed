import EventLog
public import Postgres
public import Records
public import Timeline

/// Issues the tokens of devices and fleets with a key that lives in the database, so that all replicas sign alike.
public struct TokenIssuer: Sendable {
    /// The service that signs the suite's tokens.
    public static let service = "lifecycle"
    /// Tokens are valid for so long.
    public static let lifetime = Interval(milliseconds: 365 * 24 * 3_600_000)

    private let tokens: DeviceTokens

    /// Reads the issuer's key from the database, or makes its first.
    ///
    /// - Parameter issuer: the service that signs.
    public static func open(_ pool: ConnectionPool, issuer: String) async throws -> TokenIssuer {
        if try await TokenKeys.signing(issuer, pool) == nil {
            let pem = DeviceTokens.newKey()
            // A fixed id: replicas that start together agree on whose key it is.
            let first = try await DeviceTokens(pem: pem, keyID: "\(issuer)-1")
            try await TokenKeys.add(
                issuer, id: "\(issuer)-1", privateKey: pem, publicKey: first.publicKey, pool)
        }
        guard let key = try await TokenKeys.signing(issuer, pool) else { throw StartupError.noSigningKey(issuer) }
        return TokenIssuer(tokens: try await DeviceTokens(pem: key.privateKey, keyID: key.id))
    }

    /// A token that opens one device.
    ///
    /// - Parameter position: how far the log of the device's partition is: a later revocation voids the token.
    public func device(_ device: String, fleet: String, position: Int) async throws -> String {
        try await tokens.issue(
            device: device, fleet: fleet, id: randomIdentifier(), lifetime: Self.lifetime, position: position)
    }

    /// A token that opens and registers the devices of a fleet.
    public func fleet(_ fleet: String) async throws -> String {
        try await tokens.issue(device: nil, fleet: fleet, id: randomIdentifier(), lifetime: Self.lifetime)
    }

    /// The public key as a JSON Web Key set (RFC 7517).
    public var keySet: JSON { tokens.keySet }

    private func randomIdentifier() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

/// The tokens' public keys as the database has them.
struct TokenKeyring: Sendable {
    let verifier: DeviceTokenVerifier
    private let reading: FreshReading<Void>

    init(pool: ConnectionPool, issuer: String) {
        let verifier = DeviceTokenVerifier()
        self.verifier = verifier
        reading = FreshReading(pause: Self.pause) {
            try await verifier.trust(try await TokenKeys.trusted(issuer, pool))
        }
    }

    /// Reads the keys anew. Anybody can send a token that no key fits, so all callers share one paced read. A key that
    /// was added before this call is trusted after it.
    ///
    /// - Returns: whether the read succeeded. Another caller's read may have brought the missing key, so the caller
    ///   checks its token again in any case.
    func refresh() async -> Bool { (try? await reading.value()) != nil }

    private static let pause = Duration.milliseconds(200)
}
