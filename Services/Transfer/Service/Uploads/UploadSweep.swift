import Logging
import ServiceLifecycle
import Telemetry

/// Removes the files and rows of uploads that were deleted or have expired.
struct UploadSweep: Service {
    let store: UploadStore
    let claim: StorageClaim

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        let pause = Duration.seconds(min(60, max(1, store.limits.lifetime / 4)))
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    store.logger.warning("failed to sweep uploads, will retry", error: error)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Does nothing while the files may belong to another log.
    func sweep() async throws {
        guard try await claim.check() else { return }
        for partition in 0..<store.database.partitions {
            try await store.database.sweepUploads(of: partition, lifetime: store.limits.lifetime)
            var isEmptied = true
            // If a file can't be removed, the same page would come again. The next sweep retries.
            while isEmptied {
                let buried = try await store.database.buriedUploads(of: partition)
                if buried.isEmpty { break }
                for (id, files, isErased) in buried {
                    do { try await store.empty(id, files, forGood: isErased) } catch let error as StorageError {
                        isEmptied = false
                        store.logger.warning(
                            "failed to remove files of an upload, will retry",
                            error: error, metadata: [LogKey.upload: "\(id)"])
                    }
                }
            }
        }
    }
}
