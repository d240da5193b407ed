import Contracts
import EventLog
import Foundation
import Postgres

// Connections, and the processes that hold them.
extension PushStore {
    struct Held: Sendable, Equatable {
        let key: AggregateKey
        let connection: UUID
    }

    private static let renew = Statement(
        """
        INSERT INTO push.holders (holder, expires_at) VALUES ($1, clock_timestamp() + make_interval(secs => $2))
        ON CONFLICT (holder) DO UPDATE SET expires_at = excluded.expires_at
        """)
    private static let add = Statement(
        "INSERT INTO push.connections (partition, key, connection, holder) VALUES ($1, $2, $3, $4)")
    private static let isThere = Statement(
        "SELECT FROM push.connections WHERE partition = $1 AND key = $2 AND connection = $3")
    private static let remove = Statement(
        "DELETE FROM push.connections WHERE partition = $1 AND key = $2 AND connection = $3")
    // One process claims the sweep of a dead holder, and keeps it while it continues.
    private static let claim = Statement(
        """
        UPDATE push.holders SET claimed_until = clock_timestamp() + make_interval(secs => $1) WHERE holder = (
            SELECT holder FROM push.holders
            WHERE expires_at < clock_timestamp() AND claimed_until < clock_timestamp() AND holder <> $2
            ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING holder
        """)
    private static let goOn = Statement(
        """
        UPDATE push.holders SET claimed_until = clock_timestamp() + make_interval(secs => $2)
        WHERE holder = $1 AND expires_at < clock_timestamp()
        """)
    private static let page = Statement(
        """
        SELECT key, connection FROM push.connections WHERE holder = $1 AND connection > $2
        ORDER BY connection LIMIT $3
        """)
    private static let forget = Statement("DELETE FROM push.connections WHERE holder = $1 AND connection = ANY($2)")
    private static let reap = Statement(
        """
        DELETE FROM push.holders AS h WHERE holder = $1 AND (expires_at < clock_timestamp() OR $2)
            AND NOT EXISTS (SELECT FROM push.connections AS c WHERE c.holder = h.holder)
        """)

    func renew(_ holder: UUID) async throws(PostgresError) {
        try await pool.execute(Self.renew, .uuid(holder), .double(lease))
    }

    func add(_ held: Held, of holder: UUID) async throws(PostgresError) {
        let call = Query(Self.add, parameters(of: held) + [.uuid(holder)])
        do throws(PostgresError) { _ = try await pool.execute(call) } catch {
            // Another process deleted the holder after its lease expired.
            guard error.sqlState == "23503" else { throw error }
            try await renew(holder)
            _ = try await pool.execute(call)
        }
    }

    func isThere(_ held: Held) async throws(PostgresError) -> Bool {
        try await !pool.execute(Self.isThere, parameters(of: held)).isEmpty
    }

    func remove(_ held: Held) async throws(PostgresError) {
        try await pool.execute(Self.remove, parameters(of: held))
    }

    /// Claims the sweep of a holder with an expired lease, never of the sweeper itself. Returns nil if there is none.
    func claim(by sweeper: UUID) async throws(PostgresError) -> UUID? {
        try await pool.execute(Self.claim, .double(lease), .uuid(sweeper)).first?.decode(UUID.self)
    }

    /// Returns the next connections of a dead holder; nil if it has renewed its lease.
    func page(of holder: UUID, after last: UUID?, limit: Int) async throws(PostgresError) -> [Held]? {
        let first = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let answers = try await pool.execute([
            Query(Self.goOn, [.uuid(holder), .double(lease)]),
            Query(Self.page, [.uuid(holder), .uuid(last ?? first), .int(limit)]),
        ])
        guard answers[0].affected > 0 else { return nil }
        return try answers[1].decode((AggregateKey, UUID).self).map { Held(key: $0, connection: $1) }
    }

    func remove(_ connections: [UUID], of holder: UUID) async throws(PostgresError) {
        try await pool.execute(Self.forget, .uuid(holder), .uuids(connections))
    }

    // A stalled process can connect a device after a sweep removed its row, and die before it notices. The log has this
    // connection: if no event ended it, its row is restored. So is its holder, with an expired lease.
    private static let behind = partitions(behind: "connection_positions")
    private static let restore = Statement(
        """
        WITH position AS MATERIALIZED (
            SELECT log_offset FROM push.connection_positions WHERE partition = $1 FOR UPDATE SKIP LOCKED
        ), range_end AS MATERIALIZED (
            SELECT least(position.log_offset + \(LogReader.scanLimit), p.head) AS log_offset
            FROM position, bus.partitions AS p WHERE p.partition = $1
        ), opened AS MATERIALIZED (
            SELECT key, log_offset, data ->> 'connection' AS connection, data ->> 'holder' AS holder
            FROM bus.events
            WHERE partition = $1 AND type = $2 AND log_offset > (SELECT log_offset FROM position)
                AND log_offset <= (SELECT log_offset FROM range_end) AND data ->> 'holder' IS NOT NULL
        ), unknown AS MATERIALIZED (
            SELECT * FROM opened AS b
            WHERE NOT EXISTS (
                SELECT 1 FROM push.connections AS c
                WHERE c.partition = $1 AND c.key = b.key AND c.connection = b.connection::uuid)
        ), missing AS MATERIALIZED (
            SELECT key, connection::uuid AS connection, holder::uuid AS holder FROM unknown AS b
            WHERE NOT EXISTS (
                SELECT 1 FROM bus.events AS e
                WHERE e.partition = $1 AND e.key = b.key AND e.log_offset > b.log_offset AND e.type = $3
                    AND e.data ->> 'connection' = b.connection)
        ), added_holders AS (
            INSERT INTO push.holders (holder, expires_at) SELECT DISTINCT holder, clock_timestamp() FROM missing
            ON CONFLICT (holder) DO NOTHING
        ), added_connections AS (
            INSERT INTO push.connections (partition, key, connection, holder)
            SELECT $1, key, connection, holder FROM missing ON CONFLICT DO NOTHING
        ), advanced AS (
            UPDATE push.connection_positions AS c SET log_offset = range_end.log_offset FROM range_end
            WHERE c.partition = $1 AND c.log_offset < range_end.log_offset
        )
        SELECT count(*)::int8 FROM missing
        """)

    /// Returns the partitions whose log has events that were not searched.
    func partitionsToRestore() async throws(PostgresError) -> [Int] {
        try await pool.execute(Self.behind).decode(Int.self)
    }

    /// Restores missing rows of connections, from the events of a partition since the last search.
    ///
    /// - Returns: the number of connections without a row.
    func restore(in partition: Int) async throws(PostgresError) -> Int {
        try await pool.execute(
            Self.restore, .partition(partition), .text(PushEvent.DeviceConnected.type),
            .text(PushEvent.DeviceDisconnected.type)
        ).first?.decode(Int.self) ?? 0
    }

    /// Deletes a holder that has no connections left.
    ///
    /// - Parameter leaves: true if the holder shuts down; false requires an expired lease.
    func reap(_ holder: UUID, leaves: Bool) async throws(PostgresError) {
        try await pool.execute(Self.reap, .uuid(holder), .bool(leaves))
    }

    private func parameters(of held: Held) -> [Parameter] { parameters(of: held.key) + [.uuid(held.connection)] }
}
