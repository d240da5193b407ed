import Contracts
import Foundation
import Machines
import Postgres
import Records
import TransferMachine

/// The table `transfer.workers` with the leases of workers, and the scan of all states.
struct WorkerTable: Sendable {
    /// Seconds until the lease of a worker expires.
    static let lease = 10.0

    let pool: ConnectionPool

    private static let enrol = Statement(
        """
        INSERT INTO transfer.workers (worker, expires_at) VALUES ($1, now() + $2 * interval '1 second')
        ON CONFLICT ON CONSTRAINT workers_pkey DO UPDATE SET expires_at = EXCLUDED.expires_at
        """)
    private static let dead = Statement("SELECT worker FROM transfer.workers WHERE expires_at < now()")
    private static let alive = Statement("SELECT worker FROM transfer.workers WHERE expires_at >= now()")
    private static let reap = Statement("DELETE FROM transfer.workers WHERE worker = $1 AND expires_at < now()")
    private static let states = Statement(
        """
        SELECT key, state, machine_version::int8 FROM transfer.states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
        """)

    private static let isEmpty = Statement("SELECT NOT EXISTS (SELECT FROM transfer.states)")

    /// Whether no device has a state.
    var isEmpty: Bool {
        get async throws(PostgresError) { try await pool.execute(Query(Self.isEmpty, rowsExpected: 1))[0].bool(0) }
    }

    func enrol(_ worker: UUID, for seconds: Double = WorkerTable.lease) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.enrol, [.uuid(worker), .double(seconds)]))
    }

    func dead() async throws(PostgresError) -> [UUID] {
        try await pool.execute(Query(Self.dead)).map { row throws(PostgresError) in try row.uuid(0) }
    }

    func alive() async throws(PostgresError) -> Set<UUID> {
        Set(try await pool.execute(Query(Self.alive)).map { row throws(PostgresError) in try row.uuid(0) })
    }

    func reap(_ worker: UUID) async throws(PostgresError) {
        _ = try await pool.execute(Query(Self.reap, [.uuid(worker)]))
    }

    /// Calls `body` for the states of all devices. It reads them in pages.
    ///
    /// - Throws: ``StateUnreadable``. It skips no state, because callers look for files to which no state refers.
    func forEachState(
        of partitions: Int, page: Int, _ body: (AggregateKey, TransferMachine) async throws -> Void
    ) async throws {
        for partition in 0..<partitions {
            var after = ""
            while true {
                let rows = try await states(of: partition, after: after, limit: page)
                for row in rows {
                    guard row.version == TransferMachine.version, let state = TransferMachine(binary: row.state) else {
                        throw StateUnreadable(key: row.key)
                    }
                    try await body(AggregateKey(row.key), state)
                }
                guard rows.count == page, let last = rows.last else { break }
                after = last.key
            }
        }
    }

    /// Returns a page of the states of a partition, ordered by key.
    func states(
        of partition: Int, after key: String, limit: Int
    ) async throws(PostgresError) -> [(key: String, state: [UInt8], version: Int)] {
        let call = Query(Self.states, [.int4(Int32(partition)), .text(key), .int(limit)])
        return try await pool.execute(call).map { row throws(PostgresError) in
            (try row.text(0), try row.bytes(1), try row.int(2))
        }
    }
}

/// The state of a device has another machine version.
struct StateUnreadable: Error, CustomStringConvertible {
    let key: String
    var description: String { "the state of \(key) is unreadable; another machine version wrote it" }
}
