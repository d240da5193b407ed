import Logging
import ServiceLifecycle
import Telemetry

/// Removes the files of devices whose history is erased, also from the trash.
///
/// It looks for them for an hour: a worker that did not know of the erasure may still have written to a file.
struct ErasedFiles: Service {
    let store: TransferStore
    let storage: any Storage
    /// Refuses while the files may not belong to the log.
    let claim: StorageClaim
    var pause = Duration.seconds(30)
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                do { try await sweep() } catch {
                    logger.warning("failed to remove the files of erased devices, will retry", error: error)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func sweep() async throws {
        let erased = try await store.erasedFiles()
        guard !erased.isEmpty, try await claim.check() else { return }
        var count = 0
        for folder in [StorageFolder.segments, .segments.trash] {
            for name in try await storage.names(in: folder, unchangedFor: .zero) where isErased(name, erased) {
                try await storage.remove(name, from: folder)
                count += 1
            }
        }
        try await store.forgetErasedFiles()
        guard count > 0 else { return }
        logger.notice("removed the files of erased devices", metadata: [LogKey.files: "\(count)"])
    }

    /// Whether a name, or its begin before the number of an attempt, belongs to an erased device.
    private func isErased(_ name: String, _ erased: Set<String>) -> Bool {
        if erased.contains(name) { return true }
        guard let dash = name.lastIndex(of: "-") else { return false }
        return erased.contains(String(name[..<dash]))
    }
}
