import Contracts
import Logging
import Machines
import Postgres
import Telemetry

/// Upgrades of older states that need the log. The worker never reads a history under the cursor's lock. It leaves
/// inputs of such an aggregate to a later batch, and upgrades the state in between.
extension PartitionWorker {
    /// The longest time for upgrades between two batches, while other inputs wait. Each pause upgrades at least one.
    static var upgradePortion: Duration { .milliseconds(50) }

    func upgradeBetweenBatches(_ states: [StoredState]) async {
        passTurn()
        do { try await upgrade(states) } catch {
            logger.warning(
                "failed to upgrade states, will retry", error: error, metadata: [LogKey.partition: "\(partition)"])
            // Their inputs arrive again at once.
            try? await Task.sleep(for: Self.pauseAfterFailure)
        }
    }

    /// Upgrades some of the states, and remembers the unreadable ones.
    func upgrade(_ states: [StoredState]) async throws {
        let upgrader = StateUpgrader<M>(partition: partition, pool: pool)
        let result = try await upgrader.upgrade(states, until: .now + Self.upgradePortion)
        for state in result.unreadable {
            unreadable[state.key] = state.eventCount
            logger.error(
                "failed to read stored state",
                metadata: [LogKey.partition: "\(partition)", LogKey.aggregate: "\(state.key)"])
        }
    }
}
