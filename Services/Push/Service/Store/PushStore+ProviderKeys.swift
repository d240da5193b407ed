import Contracts
import EventLog
import Machines
import Postgres
import PushCore

// Provider keys, and the search for the device of a token.
extension PushStore {
    private static let located = Statement(
        """
        SELECT key FROM push.states
        WHERE partition = $1 AND substr(sha256(key::bytea), 1, 14) BETWEEN $2 AND $3 ORDER BY key
        """)

    /// Returns the devices whose locator begins with these bytes, usually one.
    func devices(in partition: Int, locator prefix: [UInt8]) async throws(PostgresError) -> [AggregateKey] {
        func bound(_ byte: UInt8) -> Parameter { .bytes(prefix + Array(repeating: byte, count: 14 - prefix.count)) }
        return try await pool.execute(Self.located, .partition(partition), bound(0), bound(255))
            .decode(AggregateKey.self)
    }

    private static let allKeys = Statement(
        "SELECT key_id, public_key, environment, topics, team FROM push.provider_keys ORDER BY team, created_at, key_id"
    )
    private static let keysOfTeams = Statement(
        """
        SELECT k.key_id, k.public_key, k.environment, k.topics, k.team
        FROM unnest($1::int4[], $2::text[]) AS a (partition, team) JOIN push.provider_keys AS k USING (partition, team)
        ORDER BY k.team, k.created_at, k.key_id
        """)
    // The two slots limit a team to two keys: of two concurrent registrations, one violates the constraint.
    private static let addKey = Statement(
        """
        INSERT INTO push.provider_keys (partition, team, environment, key_id, public_key, topics, slot)
        SELECT $1, $2, $3, $4, $5, $6, CASE WHEN cardinality($6) > 0 THEN NULL ELSE coalesce((
            SELECT min(n) FROM generate_series(1, 2) AS n WHERE NOT EXISTS (
                SELECT FROM push.provider_keys WHERE partition = $1 AND team = $2 AND environment = $3 AND slot = n)), 3)
            END
        """)
    private static let removeKey = Statement(
        "DELETE FROM push.provider_keys WHERE partition = $1 AND team = $2 AND key_id = $3")

    private func partition(ofTeam team: String) -> Int { AggregateKey("team:" + team).partition(of: partitions) }

    func allKeys() async throws(PostgresError) -> [ProviderKeyDocument] {
        try await pool.execute(Self.allKeys).map(ProviderKeyDocument.init)
    }

    func keys(ofTeams teams: [String]) async throws(PostgresError) -> [ProviderKeyDocument] {
        let places = Parameter.int4s(teams.map { Int32(partition(ofTeam: $0)) })
        return try await pool.execute(Self.keysOfTeams, places, .texts(teams)).map(ProviderKeyDocument.init)
    }

    /// - Parameters:
    ///   - request: the idempotency key of a repeatable request.
    ///   - audit: the entry of the audit trail.
    /// - Throws: SQLSTATE 23505 if the key exists, 23514 or 23505 if the team has two keys for all topics;
    ///   `IdempotencyConflict`.
    func add(_ key: ProviderKeyDocument, _ request: Idempotency?, audit: AuditEntry? = nil) async throws {
        let home = partition(ofTeam: key.teamID)
        let call = Query(
            Self.addKey, .partition(home), .text(key.teamID), .text(key.environment.rawValue), .text(key.keyID),
            .text(key.publicKey), .texts(key.topics))
        guard let request else {
            _ = try await pool.execute([call] + audit.queries)
            return
        }
        // The answer is the key itself, so no answer is stored.
        _ = try await IdempotencyStore(service: PushMachine.name, partition: home).once(
            request, answer: [], pool, [call] + audit.queries)
    }

    /// - Parameter audit: the entry of the audit trail; added if the key existed.
    /// - Returns: whether the key existed.
    func removeKey(_ id: String, team: String, audit: AuditEntry? = nil) async throws -> Bool {
        let remove = Query(Self.removeKey, .partition(partition(ofTeam: team)), .text(team), .text(id))
        return try await pool.transaction { connection in
            guard try await connection.execute(remove).affected > 0 else { return false }
            if let audit { _ = try await connection.execute(audit.query) }
            return true
        }
    }
}

extension ProviderKeyDocument {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init()
        let environment: String
        (keyID, publicKey, environment, topics, teamID) = try row.decode(
            (String, String, String, [String], String).self)
        self.environment = PushEnvironment(rawValue: environment) ?? .sandbox
    }
}
