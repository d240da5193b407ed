import Contracts
import Logging
import Machines
import Postgres

/// States of an older machine whose upgrade takes reading the log. Under the cursor's lock nobody reads a history: inputs of
/// such an aggregate are left to a later batch, and in between it is upgraded.
extension PartitionWorker {
    /// How long the other inputs of the partition wait for upgrades between two batches. At least one is done.
    static var upgradePortion: Duration { .milliseconds(50) }

    func upgradeBetweenBatches(_ states: [StoredState]) async {
        passTurn()
        do { try await upgrade(states) } catch {
            logger.warning(
                "states could not be upgraded", metadata: ["partition": "\(partition)", "error": "\(error)"])
            // Their inputs come again at once.
            try? await Task.sleep(for: Self.pauseAfterFailure)
        }
    }

    /// Upgrades some of the states, and remembers those that can't be read.
    func upgrade(_ states: [StoredState]) async throws {
        let upgrader = StateUpgrader<M>(partition: partition, pool: pool)
        let result = try await upgrader.upgrade(states, until: .now + Self.upgradePortion)
        for state in result.unreadable {
            unreadable[state.key] = state.eventCount
            logger.error(
                "a stored state can't be read", metadata: ["partition": "\(partition)", "aggregate": "\(state.key)"])
        }
    }
}
