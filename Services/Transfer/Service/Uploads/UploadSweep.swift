import Logging
import ServiceLifecycle

/// Removes what has expired or was deleted.
struct UploadSweep: Service {
    let store: UploadStore

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        // As often as it matters, and no more than each second.
        let pause = Duration.seconds(min(60, max(1, store.limits.lifetime / 4)))
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    store.logger.warning("uploads could not be swept", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func sweep() async throws {
        for partition in 0..<store.table.partitions {
            try await store.table.sweep(partition: partition)
            var isEmptied = true
            // Where a file can't be removed, its page would come again and again: until the next sweep.
            while isEmptied {
                let buried = try await store.table.buried(in: partition)
                if buried.isEmpty { break }
                for (id, files) in buried {
                    do { try await store.empty(id, files) } catch let error as StorageError {
                        isEmptied = false
                        store.logger.warning(
                            "an upload's bytes could not be removed",
                            metadata: ["upload": "\(id)", "error": "\(error)"])
                    }
                }
            }
        }
    }
}
