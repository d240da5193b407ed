import Contracts
import EventLog
import Machines
import Postgres
import Records
import TransferCore

// The scan of all states.
extension TransferStore {
    private static let states = Statement(
        """
        SELECT key, state, machine_version::int8 FROM transfer.states WHERE partition = $1 AND key > $2 ORDER BY key LIMIT $3
        """)

    private static let isEmpty = Statement("SELECT NOT EXISTS (SELECT 1 FROM transfer.states)")

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
        try await forEachPage(of: page) { rows in
            for (key, binary, version) in rows {
                // An incomplete upgrade may lack files.
                guard case .exact(let state) = TransferMachine.stored(binary, version: version) else {
                    throw StateUnreadable(key: key)
                }
                try await body(key, state)
            }
        }
    }

    /// Calls `body` for pages of stored states with their machine versions, partition by partition, ordered by key.
    func forEachPage(
        of limit: Int, _ body: ([(key: AggregateKey, state: [UInt8], version: Int)]) async throws -> Void
    ) async throws {
        for partition in 0..<partitions {
            var after = ""
            while true {
                let rows = try await pool.execute(Self.states, .partition(partition), .text(after), .int(limit))
                    .decode((AggregateKey, [UInt8], Int).self).map { (key: $0, state: $1, version: $2) }
                try await body(rows)
                guard rows.count == limit, let last = rows.last else { break }
                after = last.key.description
            }
        }
    }
}

/// The state of a device has the form of another machine version, which this program can't read completely.
struct StateUnreadable: Error, CustomStringConvertible {
    let key: AggregateKey
    var description: String { "the state of \(key) is unreadable; another machine version wrote it" }
}
