import Contracts
import EventLog
import Machines
import Postgres
import Records
import TransferMachine

// The scan of all states.
extension TransferStore {
    private static let states = Statement(
        """
        SELECT key, state, machine_version::int8 FROM transfer.states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
        """)

    private static let isEmpty = Statement("SELECT NOT EXISTS (SELECT FROM transfer.states)")

    /// Whether no device has a state.
    var isEmpty: Bool {
        get async throws(PostgresError) {
            try await pool.execute(Self.isEmpty, rowsExpected: 1)[0].decode(Bool.self)
        }
    }

    /// Calls `body` for the states of all devices. It reads them in pages.
    ///
    /// - Throws: ``StateUnreadable``. It skips no state, because callers look for files to which no state refers.
    func forEachState(
        page: Int, _ body: (AggregateKey, TransferMachine) async throws -> Void
    ) async throws {
        for partition in 0..<partitions {
            var after = ""
            while true {
                let rows = try await states(of: partition, after: after, limit: page)
                for row in rows {
                    guard row.version == TransferMachine.version, let state = TransferMachine(binary: row.state) else {
                        throw StateUnreadable(key: row.key)
                    }
                    try await body(row.key, state)
                }
                guard rows.count == page, let last = rows.last else { break }
                after = last.key.description
            }
        }
    }

    /// Returns a page of the states of a partition, ordered by key.
    func states(
        of partition: Int, after key: String, limit: Int
    ) async throws(PostgresError) -> [(key: AggregateKey, state: [UInt8], version: Int)] {
        try await pool.execute(Self.states, .partition(partition), .text(key), .int(limit))
            .decode((AggregateKey, [UInt8], Int).self).map { ($0, $1, $2) }
    }
}

/// The state of a device has another machine version.
struct StateUnreadable: Error, CustomStringConvertible {
    let key: AggregateKey
    var description: String { "the state of \(key) is unreadable; another machine version wrote it" }
}
