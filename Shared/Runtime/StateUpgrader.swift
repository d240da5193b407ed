import Contracts
import EventLog
import Machines
import Postgres
import Records
import Timeline

/// Upgrades states of older machines, outside of the cursor's lock.
///
/// It reads a state, upgrades it, and writes it back only if it has not changed since. A batch that writes the state at
/// the same time wins: its state is already new.
struct StateUpgrader<M: Machine>: Sendable {
    let partition: Int
    let pool: ConnectionPool
    private let write = Statement(
        """
        UPDATE "\(M.name)".states AS s
        SET state = n.state, machine_version = $2, next_deadline = n.next_deadline
        FROM unnest($3::text[], $4::bytea[], $5::int8[], $6::int8[]) AS n (key, state, event_count, next_deadline)
        WHERE s.partition = $1 AND s.key = n.key AND s.event_count = n.event_count AND s.machine_version < $2
            -- A batch may hold some of the rows and wait for others. This statement never waits while it holds a row.
            AND s.key IN (SELECT l.key FROM "\(M.name)".states AS l
                WHERE l.partition = $1 AND l.key = ANY($3) FOR UPDATE SKIP LOCKED)
        RETURNING s.key
        """)

    /// The result for some states.
    struct Result: Sendable {
        var written = 0
        /// States that neither their stored form nor the log can restore.
        var unreadable: [StoredState] = []
    }

    /// Upgrades states one after the other until the time is over, at least one, and writes them together.
    func upgrade(_ states: [StoredState], until end: ContinuousClock.Instant) async throws -> Result {
        var result = Result()
        var new: [Aggregate<M>] = []
        for stored in states {
            do {
                new.append(
                    try await Aggregate<M>.current(stored, partition: partition) { [pool] in try await pool.execute($0)
                    })
            } catch is RuntimeError {
                result.unreadable.append(stored)
            }
            guard .now < end else { break }
        }
        guard !new.isEmpty else { return result }
        result.written = try await pool.execute(
            write, .partition(partition), .int4(Int32(M.version)), .texts(new.map(\.key.description)),
            .byteas(new.map(\.state.binary)), .ints(new.map(\.eventCount)),
            .ints(new.map { $0.nextDeadline.map { Int($0.milliseconds) } })
        ).count
        return result
    }
}
