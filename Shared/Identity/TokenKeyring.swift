import EventLog
public import Postgres
public import ServiceLifecycle
import Synchronization

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

/// Reads the public keys again and again, so that a deleted key is trusted no longer. Also ends the streams of expired
/// tokens.
public struct TokenKeyFollower: Service {
    /// The interval between two reads.
    private static let poll = Duration.seconds(2)

    private let keyring: TokenKeyring
    private let revoked: RevokedTokens

    /// - Parameter revoked: ends the streams of all tokens when a key was deleted.
    public init(_ keyring: TokenKeyring, _ revoked: RevokedTokens) {
        self.keyring = keyring
        self.revoked = revoked
    }

    /// Runs until graceful shutdown or cancellation. During an outage the keys of the last read stay valid.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            var trusted = self.keyring.verifier.trusted
            while (try? await Task.sleep(for: Self.poll)) != nil {
                self.revoked.endExpired()
                guard await self.keyring.refresh() else { continue }
                let before = trusted
                trusted = self.keyring.verifier.trusted
                if !before.isSubset(of: trusted) { self.revoked.endStreams() }
            }
        }
    }
}
