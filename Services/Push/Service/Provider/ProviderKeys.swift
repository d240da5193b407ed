import Contracts
import Crypto
import Postgres
import PushMachine
import ServiceLifecycle
import Synchronization

/// The registered keys of all teams, read anew every few seconds: a key that another replica registered or removed shows after
/// ``ProviderKeys/freshness``. What a provider's token names costs no question to the database.
final class ProviderKeys: Service {
    static let freshness = Duration.seconds(5)
    /// A key that is not known may be new; so often at most it is looked for, whoever invents tokens.
    private static let patience = Duration.seconds(1)

    private struct State {
        var teams: [String: [ProviderKey]] = [:]
        var readAt: ContinuousClock.Instant?
        /// Each read has a number: an older one that ends later does not put back what it saw.
        var begun = 0
        var shown = 0
    }

    private let tables: PushTables
    private let state = Mutex(State())

    init(_ tables: PushTables) { self.tables = tables }

    /// Reads them every ``freshness`` until graceful shutdown. While the database is away, what was read last stands.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { try? await self.refresh() } while (try? await Task.sleep(for: Self.freshness)) != nil
        }
    }

    /// The keys of a team, of any environment.
    ///
    /// - Parameter keyID: what the token names.
    func keys(ofTeam team: String, keyID: String) async throws(PostgresError) -> [ProviderKey] {
        let (known, isDue) = state.withLock { state in
            let known = state.teams[team] ?? []
            let isKnown = known.contains { $0.keyID == keyID }
            return (known, !isKnown && state.readAt.map { .now - $0 >= Self.patience } ?? true)
        }
        guard isDue else { return known }
        try await refresh()
        return state.withLock { $0.teams[team] ?? [] }
    }

    /// Reads them now.
    func refresh() async throws(PostgresError) {
        let number = state.withLock { state in
            state.readAt = .now
            state.begun += 1
            return state.begun
        }
        let documents: [ProviderKeyDocument]
        do throws(PostgresError) { documents = try await tables.allKeys() } catch {
            state.withLock { $0.readAt = nil }
            throw error
        }
        let keys = documents.compactMap { document -> ProviderKey? in
            // Checked when it was registered.
            guard let key = try? P256.Signing.PublicKey(pemRepresentation: document.publicKey) else { return nil }
            return ProviderKey(
                keyID: document.keyID, teamID: document.teamID, environment: document.environment.rawValue,
                topics: document.topics, publicKey: key)
        }
        state.withLock { state in
            guard number > state.shown else { return }
            state.shown = number
            state.teams = Dictionary(grouping: keys, by: \.teamID)
        }
    }
}
