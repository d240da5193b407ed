import Foundation
import Logging
import Machines
import Postgres
import Telemetry

extension BatchEngine {
    /// How long the engine tries to find out the result of an unknown commit. After that the caller must find out
    /// alone.
    static var settlingPatience: Duration { .seconds(30) }
    /// The longest time for upgrades between two batches, while other inputs wait. Each pause upgrades at least one.
    static var upgradePortion: Duration { .milliseconds(50) }
    /// The most folds of a partition that wait for a batch.
    static var mostFolds: Int { 1000 }

    /// Finds out whether a commit with a lost answer succeeded. The lock on the cursor row waits for the end of the old
    /// transaction. The batch is committed if it is the cursor's last batch, or if its probe event is in the log:
    /// another replica may have committed a batch since. A batch without answers to commands needs no probe: it is safe
    /// to repeat, because its inputs from the log are not processed twice.
    func settle(_ request: SettleRequest) async -> Machine.Settlement {
        let start = ContinuousClock.now
        while true {
            do { return try await lookForCommit(request) } catch let error as PostgresError where error.isPassing {
                let patience = isStopping ? Machine.patience : Self.settlingPatience
                guard .now < start + patience else { return .unknown }
            } catch {
                return .unknown
            }
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return .unknown }
        }
    }

    private func lookForCommit(_ request: SettleRequest) async throws -> Machine.Settlement {
        let partition = Parameter.int4(Int32(request.partition))
        let partitions = Parameter.int4s([Int32(request.partition)])
        let rows = try await pool.withConnection { connection in
            try await connection.execute([
                Query(statements.begin),
                Query(Statements.limitLocks),
                Query(Statements.lockCursors, [partitions, .text(M.name)], rowsExpected: 1),
                Query(Statements.heads, [partitions], rowsExpected: 1),
                Query(
                    Statements.probe, [partition, .int(request.headBefore), .uuid(request.probe?.id)], rowsExpected: 1),
                Query(statements.rollback),
            ])
        }
        return request.settlement(
            lastBatch: try rows[2][0].decode(UUID?.self, at: 4), head: try rows[3][0].decode(Int.self, at: 1),
            probeOffset: try rows[4][0].decode(Int?.self))
    }

    /// Upgrades older states that need the log. A batch never reads a history under the cursor's lock: it leaves inputs
    /// of such an aggregate to a later batch.
    func upgradeBetweenBatches(_ states: [StoredState], of partition: Int) async {
        do { try await upgrade(states, of: partition) } catch {
            logger.warning(
                "failed to upgrade states, will retry", error: error, metadata: [LogKey.partition: "\(partition)"])
            // Their inputs arrive again at once.
            try? await Task.sleep(for: Quarantine.pause)
        }
    }

    /// Folds the histories of some of the states for the next batch, at least of one, and remembers the unreadable ones.
    func upgrade(_ states: [StoredState], of partition: Int) async throws {
        let end = ContinuousClock.now + Self.upgradePortion
        for state in states {
            do {
                let fold = try await Aggregate<M>.current(state, partition: partition) { [pool] in
                    try await pool.execute($0)
                }
                if machines[partition].folded.count >= Self.mostFolds { machines[partition].folded = [:] }
                machines[partition].folded[state.key] = fold
            } catch is RuntimeError {
                machines[partition].unreadable[state.key] = state.eventCount
                logger.error(
                    "failed to read stored state",
                    metadata: [LogKey.partition: "\(partition)", LogKey.aggregate: "\(state.key)"])
            }
            guard .now < end else { return }
        }
    }
}
