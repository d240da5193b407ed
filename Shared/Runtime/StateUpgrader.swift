import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Timeline

/// Writes states in the chosen form of their partition.
///
/// It reads a state, upgrades it outside of any lock, and writes it back only if it has not changed since. It locks the
/// cursor row for the write, so that the form and the lease are still those of its plan, and no batch runs meanwhile.
struct StateUpgrader<M: Machine>: Sendable {
    let partition: Int
    let lease: OwnedPartition
    /// The chosen form.
    let form: Int
    let pool: ConnectionPool
    // The cursor is locked before the states, as in a batch.
    static var write: Statement {
        Statement(
            """
            WITH held AS (
                SELECT FROM bus.cursors
                WHERE partition = $1 AND consumer = '\(M.name)' AND owner = $2 AND epoch = $3 AND state_form = $4 FOR UPDATE)
            UPDATE "\(M.name)".states AS s
            SET state = n.state, machine_version = n.machine_version, next_deadline = n.next_deadline
            FROM unnest($5::int4[], $6::text[], $7::bytea[], $8::int8[], $9::int8[])
                AS n (machine_version, key, state, event_count, next_deadline)
            WHERE EXISTS (SELECT FROM held) AND s.partition = $1 AND s.key = n.key AND s.event_count = n.event_count
            RETURNING s.key
            """)
    }

    /// The result for some states.
    struct Result: Sendable {
        var written = 0
        /// States that neither their stored form nor the log can restore.
        var unreadable: [StoredState] = []
        /// The number of states that keep a newer form than the chosen one.
        var newer = 0
    }

    /// Upgrades states one after the other, and writes those together whose rows change. A state that the chosen form can't
    /// express keeps its form: older members may read it.
    ///
    /// - Parameter now: the suite time.
    func upgrade(_ states: [DatedState], at now: Instant) async throws -> Result {
        var result = Result()
        var new: [(aggregate: Aggregate<M>, written: WrittenForm)] = []
        for (stored, deadline) in states {
            do {
                let aggregate = try await Aggregate<M>.current(stored, partition: partition) { [pool] in
                    try await pool.execute($0)
                }
                let written = aggregate.state.written(as: form, at: now)
                guard written.version <= max(form, stored.machineVersion) else { continue }
                if written.version > form { result.newer += 1 }
                guard written.version != stored.machineVersion || written.nextDeadline != deadline else { continue }
                new.append((aggregate, written))
            } catch is RuntimeError {
                result.unreadable.append(stored)
            }
        }
        guard !new.isEmpty else { return result }
        result.written = try await pool.execute([
            Query(Statement(TransactionLevel.readCommitted.rawValue)), Query(Statements.limitLocks),
            Query(
                Self.write,
                [
                    .partition(partition), .uuid(lease.owner), .int(lease.epoch), .int4(Int32(form)),
                    .int4s(new.map { Int32($0.written.version) }), .texts(new.map { $0.aggregate.key.description }),
                    .byteas(new.map { $0.written.binary }), .ints(new.map { $0.aggregate.eventCount }),
                    .ints(new.map { $0.written.nextDeadline.map { Int($0.milliseconds) } }),
                ]), Query(.commit),
        ])[2].count
        return result
    }
}

/// A stored state with its stored deadline.
typealias DatedState = (stored: StoredState, deadline: Instant?)
