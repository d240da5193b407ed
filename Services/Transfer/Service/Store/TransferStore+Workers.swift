import Foundation
import Postgres

// The table `transfer.workers` with the leases of workers.
extension TransferStore {
    /// Seconds until the lease of a worker expires.
    static let workerLease = 10.0

    private static let enrol = Statement(
        """
        INSERT INTO transfer.workers (worker, expires_at) VALUES ($1, now() + $2 * interval '1 second')
        ON CONFLICT ON CONSTRAINT workers_pkey DO UPDATE SET expires_at = EXCLUDED.expires_at
        """)
    private static let dead = Statement("SELECT worker FROM transfer.workers WHERE expires_at < now()")
    private static let alive = Statement("SELECT worker FROM transfer.workers WHERE expires_at >= now()")
    private static let reap = Statement("DELETE FROM transfer.workers WHERE worker = $1 AND expires_at < now()")

    func enrol(_ worker: UUID, for seconds: Double = workerLease) async throws(PostgresError) {
        try await pool.execute(Self.enrol, .uuid(worker), .double(seconds))
    }

    func deadWorkers() async throws(PostgresError) -> [UUID] { try await pool.execute(Self.dead).decode(UUID.self) }

    func livingWorkers() async throws(PostgresError) -> Set<UUID> {
        Set(try await pool.execute(Self.alive).decode(UUID.self))
    }

    func reap(_ worker: UUID) async throws(PostgresError) { try await pool.execute(Self.reap, .uuid(worker)) }
}
