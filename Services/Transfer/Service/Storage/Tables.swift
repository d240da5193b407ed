import Foundation
import Postgres

// The SQL of the movers; that of contents is in `ContentTable`.

/// The table `transfer.movers`, and the look through all states for attempts that nobody carries out.
struct MoverTable: Sendable {
    /// Seconds after which a mover that was not heard of is dead.
    static let lease = 10.0

    let pool: ConnectionPool

    private static let enrol = Statement(
        """
        INSERT INTO transfer.movers (mover, expires_at) VALUES ($1, now() + $2 * interval '1 second')
        ON CONFLICT ON CONSTRAINT movers_one DO UPDATE SET expires_at = EXCLUDED.expires_at
        """)
    private static let dead = Statement("SELECT mover FROM transfer.movers WHERE expires_at < now()")
    private static let alive = Statement("SELECT mover FROM transfer.movers WHERE expires_at >= now()")
    private static let bury = Statement("DELETE FROM transfer.movers WHERE mover = $1 AND expires_at < now()")
    private static let states = Statement(
        """
        SELECT key, state FROM transfer.states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
        """)

    func enrol(_ mover: UUID, for seconds: Double = MoverTable.lease) async throws(PostgresError) {
        _ = try await pool.run(Call(Self.enrol, [.uuid(mover), .double(seconds)]))
    }

    func dead() async throws(PostgresError) -> [UUID] {
        try await pool.run(Call(Self.dead)).map { row throws(PostgresError) in try row.uuid(0) }
    }

    func alive() async throws(PostgresError) -> Set<UUID> {
        Set(try await pool.run(Call(Self.alive)).map { row throws(PostgresError) in try row.uuid(0) })
    }

    func bury(_ mover: UUID) async throws(PostgresError) { _ = try await pool.run(Call(Self.bury, [.uuid(mover)])) }

    /// A page of the states of a partition, by key.
    func states(
        of partition: Int, after key: String, limit: Int
    ) async throws(PostgresError) -> [(key: String, state: [UInt8])] {
        let call = Call(Self.states, [.int4(Int32(partition)), .text(key), .int(limit)])
        return try await pool.run(call).map { row throws(PostgresError) in (try row.text(0), try row.bytes(1)) }
    }
}
