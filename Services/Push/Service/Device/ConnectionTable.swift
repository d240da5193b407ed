import Contracts
import Foundation
import Postgres

/// The SQL of connections and of the processes that hold them. All leases are by the database's clock.
struct ConnectionTable: Sendable {
    struct Held: Sendable, Equatable {
        let key: AggregateKey
        let connection: UUID
    }

    let pool: ConnectionPool
    let partitions: Int
    /// How long a lease lasts that is not renewed, in seconds.
    let lease: Double

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
    // Dead is dead for all: whoever comes first has the sweep for as long as it goes on.
    private static let claim = Statement(
        """
        UPDATE push.holders SET swept_until = clock_timestamp() + make_interval(secs => $1) WHERE holder = (
            SELECT holder FROM push.holders
            WHERE expires_at < clock_timestamp() AND swept_until < clock_timestamp()
            ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING holder
        """)
    private static let goOn = Statement(
        """
        UPDATE push.holders SET swept_until = clock_timestamp() + make_interval(secs => $2)
        WHERE holder = $1 AND expires_at < clock_timestamp()
        """)
    private static let page = Statement(
        """
        SELECT key, connection FROM push.connections WHERE holder = $1 AND connection > $2
        ORDER BY connection LIMIT $3
        """)
    private static let forget = Statement("DELETE FROM push.connections WHERE holder = $1 AND connection = ANY($2)")
    private static let bury = Statement(
        """
        DELETE FROM push.holders AS h WHERE holder = $1 AND (expires_at < clock_timestamp() OR $2)
            AND NOT EXISTS (SELECT FROM push.connections AS c WHERE c.holder = h.holder)
        """)

    func renew(_ holder: UUID) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.renew, [.uuid(holder), .double(lease)]))
    }

    func add(_ held: Held, of holder: UUID) async throws(PostgresError) {
        let call = Call(Self.add, place(held) + [.uuid(holder)])
        do throws(PostgresError) { _ = try await pool.run(call) } catch {
            // A process that was away for long was buried; it lives.
            guard error.sqlState == "23503" else { throw error }
            try await renew(holder)
            _ = try await pool.run(call)
        }
    }

    func isThere(_ held: Held) async throws(PostgresError) -> Bool {
        try await !pool.run(Call(Self.isThere, place(held))).isEmpty
    }

    func remove(_ held: Held) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.remove, place(held)))
    }

    /// A dead holder that nobody sweeps; nil where there is none.
    func claim() async throws(PostgresError) -> UUID? {
        try await pool.run(Call(Self.claim, [.double(lease)])).first?.uuid(0)
    }

    /// The next connections of a dead holder; nil where it lives again.
    func page(of holder: UUID, after last: UUID?, limit: Int) async throws(PostgresError) -> [Held]? {
        let first = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        let answers = try await pool.run([
            Call(Self.goOn, [.uuid(holder), .double(lease)]),
            Call(Self.page, [.uuid(holder), .uuid(last ?? first), .int(limit)]),
        ])
        guard answers[0].affected > 0 else { return nil }
        return try answers[1].map { row throws(PostgresError) in
            Held(key: AggregateKey(try row.text(0)), connection: try row.uuid(1))
        }
    }

    func remove(_ connections: [UUID], of holder: UUID) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.forget, [.uuid(holder), .uuids(connections)]))
    }

    /// Forgets a holder that has no connections any more.
    ///
    /// - Parameter leaves: it lives, and takes its leave.
    func bury(_ holder: UUID, leaves: Bool) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.bury, [.uuid(holder), .bool(leaves)]))
    }

    private func place(_ held: Held) -> [Parameter] {
        [.int4(Int32(held.key.partition(of: partitions))), .text(held.key.description), .uuid(held.connection)]
    }
}
