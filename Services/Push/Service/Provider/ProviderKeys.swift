import Contracts
import Crypto
import Postgres
import Synchronization
import Timeline

/// The registered keys of teams, as of a few seconds ago: a key that another replica registered or removed shows after
/// ``ProviderKeys/freshness``.
final class ProviderKeys: Sendable {
    static let freshness = Interval.seconds(5.0)
    private static let limit = 10_000

    private let tables: PushTables
    private let clock: any SuiteClock
    private let known = Mutex<[String: (keys: [ProviderKey], at: Instant)]>([:])

    /// - Parameter clock: real time.
    init(_ tables: PushTables, clock: any SuiteClock) {
        self.tables = tables
        self.clock = clock
    }

    func keys(ofTeam team: String) async throws(PostgresError) -> [ProviderKey] {
        let now = clock.now
        if let entry = known.withLock({ $0[team] }), now - entry.at < Self.freshness { return entry.keys }
        let keys = try await tables.keys(ofTeam: team).compactMap { document -> ProviderKey? in
            // Checked when it was registered.
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: document.publicKey) else { return nil }
            return ProviderKey(
                keyID: document.keyID, teamID: team, environment: document.environment.rawValue,
                topics: document.topics, publicKey: key)
        }
        known.withLock { known in
            // Teams come from tokens that anybody can write: what they ask for must not pile up.
            if known.count >= Self.limit { known.removeAll() }
            known[team] = (keys, now)
        }
        return keys
    }

    /// Looks anew at the next token of the team.
    func forget(team: String) { known.withLock { $0[team] = nil } }
}
