import Foundation
import Logging
import Postgres

/// Renews the lease of a worker.
///
/// It has its own connection, so the lease does not expire under load.
struct WorkerLease: Sendable {
    static let renewal = Duration.seconds(3)

    private let worker: UUID
    private let store: TransferStore
    private let logger: Logger

    init(of worker: UUID, _ options: ConnectionOptions, partitions: Int, logger: Logger) {
        self.worker = worker
        self.logger = logger
        store = TransferStore(pool: ConnectionPool(options, size: 1, logger: logger), partitions: partitions)
    }

    /// Runs until cancellation.
    ///
    /// - Parameter begun: called once, when the lease begins.
    func keep(begun: () -> Void) async {
        var isKnown = false
        while !Task.isCancelled {
            do {
                try await store.enrol(worker)
                if !isKnown { begun() }
                isKnown = true
            } catch { logger.warning("failed to renew a worker lease, will retry", error: error) }
            try? await Task.sleep(for: Self.renewal)
        }
    }

    /// Ends the lease, so that others need not wait until it expires.
    func end() async {
        try? await store.enrol(worker, for: -1)
        await store.pool.close()
    }
}
