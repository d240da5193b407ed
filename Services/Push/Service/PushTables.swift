import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import PushMachine
import Timeline

/// The SQL of provider keys, and of the search for the device of a token.
struct PushTables: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    static func migrations() throws -> [Migration] {
        let files = [
            ("0002_push.sql", PackageResources._002_push_sql)
        ]
        return try files.map { try Migration(fileName: $0.0, sql: String(decoding: $0.1, as: UTF8.self)) }
    }

    // MARK: Devices

    private static let located = Statement(
        """
        SELECT key FROM push.states
        WHERE partition = $1 AND substr(sha256(key::bytea), 1, 14) BETWEEN $2 AND $3 ORDER BY key
        """)

    /// Returns the devices whose locator begins with these bytes, usually one.
    func devices(in partition: Int, locator prefix: [UInt8]) async throws(PostgresError) -> [AggregateKey] {
        let rest = 14 - prefix.count
        let rows = try await pool.execute(
            Query(
                Self.located,
                [
                    .int4(Int32(partition)), .bytes(prefix + Array(repeating: 0, count: rest)),
                    .bytes(prefix + Array(repeating: 255, count: rest)),
                ]))
        return try rows.map { row throws(PostgresError) in AggregateKey(try row.text(0)) }
    }

    // MARK: Provider keys

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

    private func home(ofTeam team: String) -> Int { AggregateKey("team:" + team).partition(of: partitions) }
    private func partition(ofTeam team: String) -> Parameter { .int4(Int32(home(ofTeam: team))) }

    func allKeys() async throws(PostgresError) -> [ProviderKeyDocument] {
        let rows = try await pool.execute(Query(Self.allKeys))
        return try rows.map { row throws(PostgresError) in try Self.document(row, team: try row.text(4)) }
    }

    func keys(ofTeams teams: [String]) async throws(PostgresError) -> [ProviderKeyDocument] {
        let places = Parameter.int4s(teams.map { Int32(home(ofTeam: $0)) })
        let rows = try await pool.execute(Query(Self.keysOfTeams, [places, .texts(teams)]))
        return try rows.map { row throws(PostgresError) in try Self.document(row, team: try row.text(4)) }
    }

    /// - Parameter request: the idempotency key of a repeatable request.
    /// - Throws: SQLSTATE 23505 if the key exists, 23514 or 23505 if the team has two keys for all topics;
    ///   `IdempotencyConflict`.
    func add(_ key: ProviderKeyDocument, _ request: Idempotency?) async throws {
        let call = Query(
            Self.addKey,
            [
                partition(ofTeam: key.teamID), .text(key.teamID), .text(key.environment.rawValue),
                .text(key.keyID), .text(key.publicKey), .texts(key.topics),
            ])
        guard let request else {
            _ = try await pool.execute(call)
            return
        }
        // The answer is the key itself, so no answer is stored.
        let book = IdempotencyStore(service: PushMachine.name, partition: home(ofTeam: key.teamID))
        _ = try await book.once(request, answer: [], pool, [call])
    }

    /// - Returns: whether the key existed.
    func removeKey(_ id: String, team: String) async throws(PostgresError) -> Bool {
        let rows = try await pool.execute(Query(Self.removeKey, [partition(ofTeam: team), .text(team), .text(id)]))
        return rows.affected > 0
    }

    private static func document(_ row: Row, team: String) throws(PostgresError) -> ProviderKeyDocument {
        var key = ProviderKeyDocument()
        key.teamID = team
        key.keyID = try row.text(0)
        key.publicKey = try row.text(1)
        key.environment = PushEnvironment(rawValue: try row.text(2)) ?? .sandbox
        key.topics = try row.texts(3)
        return key
    }
}
