import NIOPosix
import ServiceLifecycle
import Telemetry

/// Updates the gauges of the space in `DATA_DIRECTORY`.
struct StorageGauge: Service {
    let directory: String
    let limits: StorageLimits
    let metrics: Metrics

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        metrics.set(.storageReserve, to: Double(limits.reserve))
        await cancelWhenGracefulShutdown {
            repeat { await note() } while (try? await Task.sleep(for: .seconds(15))) != nil
        }
    }

    /// A network file system may answer late, so the read has a thread of its own.
    private func note() async {
        let free = try? await NIOThreadPool.singleton.runIfActive { try freeBytes(at: directory) }
        if let free { metrics.set(.storageFree, to: Double(free)) }
    }
}

extension Metric {
    static let storageFree = Metric(
        "dormouse_storage_free_bytes", "Free bytes of the file system of DATA_DIRECTORY.", .gauge)
    static let storageReserve = Metric(
        "dormouse_storage_reserve_bytes", "Bytes of this file system that stay free (DATA_RESERVE).", .gauge)
}
