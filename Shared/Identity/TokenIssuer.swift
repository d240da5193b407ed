public import EventLog
public import Logging
public import Postgres
public import Records
public import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// Issues the tokens of devices and fleets. Its keys are in the database, so all replicas use the same.
///
/// While it runs it reads the newest key again, so an operator can rotate the keys without a restart.
public final class TokenIssuer: Service {
    /// The service that signs the suite's tokens.
    public static let service = "lifecycle"
    /// The longest lifetime of a token in days.
    public static let longestLifetime = 365
    /// The interval between two reads of the keys.
    static let poll = Duration.seconds(2)

    /// The role may not read the signing keys of the issuer.
    struct NoSigningKey: Error, CustomStringConvertible {
        let issuer: String

        var description: String {
            "the role of DATABASE_URL can't read the signing keys: connect with the role of \(issuer)"
        }
    }

    private struct Keys {
        let id: String
        let tokens: DeviceTokens
        /// The public keys in PEM, by key id.
        var trusted: [String: String]
    }

    private let issuer: String
    /// The lifetime of a token.
    private let lifetime: Interval
    private let pool: ConnectionPool
    private let keys: Mutex<Keys>
    private let logger: Logger

    private init(_ issuer: String, lifetime: Interval, _ keys: Keys, _ pool: ConnectionPool, _ logger: Logger) {
        self.issuer = issuer
        self.lifetime = lifetime
        self.keys = Mutex(keys)
        self.pool = pool
        self.logger = logger
    }

    /// Reads the issuer's keys from the database, or creates the first one.
    ///
    /// - Parameters:
    ///   - issuer: the service that signs.
    ///   - days: the lifetime of a token in days, from 1 to ``longestLifetime``.
    public static func open(
        _ pool: ConnectionPool, issuer: String, days: Int = longestLifetime, logger: Logger = Logger(label: "tokens")
    ) async throws -> TokenIssuer {
        // The id is fixed, so that only one of several replicas that start at once adds a key.
        if try await TokenKeys.signing(issuer, pool) == nil { try await add("\(issuer)-1", issuer, pool) }
        return TokenIssuer(issuer, lifetime: .days(Int64(days)), try await read(issuer, pool), pool, logger)
    }

    /// Adds a key. All replicas sign with it from ``poll`` on. Tokens of the earlier keys stay valid.
    ///
    /// - Parameter audit: the entry of the audit trail, whose subject becomes the key.
    /// - Returns: the id of the key.
    public static func rotate(
        _ pool: ConnectionPool, issuer: String, audit: AuditEntry? = nil
    ) async throws -> String {
        let known = try await TokenKeys.trusted(issuer, pool).keys.compactMap { Int($0.dropFirst(issuer.count + 1)) }
        let id = "\(issuer)-\((known.max() ?? 0) + 1)"
        try await add(id, issuer, pool, audit: audit?.about("signingKey:" + id))
        return id
    }

    /// Deletes all keys except the newest, so that the tokens of the earlier keys are void.
    ///
    /// - Parameter audit: the entry of the audit trail.
    /// - Returns: the ids of the deleted keys.
    public static func voidOld(
        _ pool: ConnectionPool, issuer: String, audit: AuditEntry? = nil
    ) async throws -> [String] {
        try await TokenKeys.deleteOld(issuer, pool, audit: audit)
    }

    private static func add(
        _ id: String, _ issuer: String, _ pool: ConnectionPool, audit: AuditEntry? = nil
    ) async throws {
        let pem = DeviceTokens.newKey()
        let publicKey = try await DeviceTokens(pem: pem, keyID: id).publicKey
        try await TokenKeys.add(issuer, id: id, privateKey: pem, publicKey: publicKey, pool, audit: audit)
    }

    private static func read(_ issuer: String, _ pool: ConnectionPool) async throws -> Keys {
        // First the trusted keys: after a rotation in between, the next poll finds other ones and reads again.
        let trusted = try await TokenKeys.trusted(issuer, pool)
        guard let key = try await TokenKeys.signing(issuer, pool) else { throw NoSigningKey(issuer: issuer) }
        let incarnation = try await pool.withConnection { try await LogIncarnation.read($0) }
        let tokens = try await DeviceTokens(pem: key.privateKey, keyID: key.id, incarnation: incarnation)
        return Keys(id: key.id, tokens: tokens, trusted: trusted)
    }

    /// Reads the keys again and again, until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.poll)) != nil {
                do { try await self.refresh() } catch {
                    self.logger.warning("failed to read signing keys, will retry", error: error)
                }
            }
        }
    }

    /// Reads the keys again.
    func refresh() async throws {
        let trusted = try await TokenKeys.trusted(issuer, pool)
        guard keys.withLock({ $0.trusted != trusted }) else { return }
        let fresh = try await Self.read(issuer, pool)
        keys.withLock { $0 = fresh }
        logger.info("reloaded signing keys", metadata: [LogKey.name: .string(fresh.id)])
    }

    /// Issues a token for one device.
    ///
    /// - Parameter position: the head of the device's partition. A later revocation applies to the token.
    public func device(_ device: String, fleet: String, position: Int) async throws -> String {
        try await issue(device, fleet, position)
    }

    /// Issues a token that registers and accesses the devices of a fleet.
    public func fleet(_ fleet: String) async throws -> String {
        try await issue(nil, fleet, try await FleetRevocations.generation(of: fleet, pool))
    }

    /// Revokes all tokens of a fleet. Later ones are valid.
    ///
    /// - Parameter audit: the entry of the audit trail.
    public func revoke(fleet: String, audit: AuditEntry? = nil) async throws {
        try await FleetRevocations.revoke(fleet, pool, audit: audit)
    }

    private func issue(_ device: String?, _ fleet: String, _ position: Int) async throws -> String {
        let tokens = keys.withLock { $0.tokens }
        return try await tokens.issue(
            device: device, fleet: fleet, id: randomIdentifier(), lifetime: lifetime, position: position)
    }

    /// The public keys as a JSON Web Key set (RFC 7517).
    public var keySet: JSON { DeviceTokens.keySet(keys.withLock { $0.trusted }) }

    private func randomIdentifier() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}
