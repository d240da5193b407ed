import Contracts
import Crypto
import Postgres
import PushCore
import ServiceLifecycle
import Synchronization

/// The registered keys of all teams, in memory. A token that they accept needs no query.
///
/// If they refuse a token, the service reads the keys from the database and decides again. So every replica accepts a
/// key as soon as its registration is answered. Callers share paced reads: unknown tokens cost at most 20 reads a
/// second. Other replicas accept a removed key for another ``ProviderKeys/freshness``.
final class ProviderKeys: Service {
    static let freshness = Duration.seconds(5)
    /// The shortest time between two reads, however many tokens arrive.
    static let pause = Duration.milliseconds(50)

    private let book: KeyBook
    private let reading: FreshReading<Void>

    init(_ store: PushStore) {
        let book = KeyBook(store)
        self.book = book
        reading = FreshReading(pause: Self.pause) { try await book.read() }
    }

    /// Reads the keys every ``freshness`` until graceful shutdown. During an outage the keys of the last read stay
    /// valid.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { try? await self.refresh() } while (try? await Task.sleep(for: Self.freshness)) != nil
        }
    }

    /// Returns the keys of a team in memory, of any environment.
    func known(ofTeam team: String) -> [ProviderKey] { book.keys(ofTeam: team) }

    /// Returns the owners of topics, from the keys in memory.
    var owners: TopicOwners { book.owners }

    /// Returns the keys of a team in the database, of any environment.
    func current(ofTeam team: String) async throws -> [ProviderKey] {
        book.want(team: team)
        try await reading.value()
        return book.keys(ofTeam: team)
    }

    /// Reads the keys of all teams now.
    func refresh() async throws {
        book.wantAll()
        try await reading.value()
    }
}

/// The keys from the last read, and the teams that the next read is for. At most one read runs at a time.
private final class KeyBook: Sendable {
    private struct State {
        var teams: [String: [ProviderKey]] = [:] {
            didSet { owners = TopicOwners(teams.values.flatMap { $0 }) }
        }
        var owners = TopicOwners()
        var wanted: Set<String> = []
        /// The first read is of all teams: the owners of an app are known only then.
        var wantsAll = true
    }

    private let store: PushStore
    private let state = Mutex(State())

    init(_ store: PushStore) { self.store = store }

    func keys(ofTeam team: String) -> [ProviderKey] { state.withLock { $0.teams[team] ?? [] } }
    var owners: TopicOwners { state.withLock { $0.owners } }
    func want(team: String) { state.withLock { _ = $0.wanted.insert(team) } }
    func wantAll() { state.withLock { $0.wantsAll = true } }

    /// Reads the keys that callers have requested so far.
    func read() async throws(PostgresError) {
        let (wanted, wantsAll) = state.withLock { state in
            defer { (state.wanted, state.wantsAll) = ([], false) }
            return (state.wanted, state.wantsAll)
        }
        // Another read has already served every request.
        guard wantsAll || !wanted.isEmpty else { return }
        let documents: [ProviderKeyDocument]
        do throws(PostgresError) {
            documents = try await wantsAll ? store.allKeys() : store.keys(ofTeams: wanted.sorted())
        } catch {
            state.withLock { state in
                state.wanted.formUnion(wanted)
                state.wantsAll = state.wantsAll || wantsAll
            }
            throw error
        }
        let teams = Dictionary(grouping: documents.compactMap(ProviderKey.init), by: \.teamID)
        state.withLock { state in
            var known = wantsAll ? [:] : state.teams
            for team in wanted { known[team] = nil }
            state.teams = known.merging(teams) { _, new in new }
        }
    }
}

extension ProviderKey {
    /// Returns nil for a malformed key. Registration rejects those, so none is stored.
    fileprivate init?(_ document: ProviderKeyDocument) {
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: document.publicKey) else { return nil }
        self.init(
            keyID: document.keyID, teamID: document.teamID, environment: document.environment.rawValue,
            topics: document.topics, publicKey: key)
    }
}
