import Synchronization
import TestSupport

/// A stopped cluster with a database that is migrated for all services. Each suite gets a copy, because a copy takes
/// much less time than `initdb` and the migrations.
struct MigratedCluster {
    let cluster: PrivateCluster
    let database: String

    private struct Key: Hashable {
        let virtualTime: Bool
        let partitions: Int?
    }
    private static let made = Mutex<[Key: Task<MigratedCluster, any Error>]>([:])

    static func of(virtualTime: Bool, partitions: Int?) async throws -> MigratedCluster {
        let task = made.withLock { made in
            let key = Key(virtualTime: virtualTime, partitions: partitions)
            let task =
                made[key]
                ?? Task {
                    try await RunningSuite.migrate(virtualTime: virtualTime, partitions: partitions)
                }
            made[key] = task
            return task
        }
        return try await task.value
    }
}
