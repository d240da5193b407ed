import Foundation
import Logging
import Postgres
import ServiceKit

/// Renews the lease of a worker.
///
/// It has its own connection, so the lease does not expire under load.
struct MoverLease: Sendable {
    static let renewal = Duration.seconds(3)

    private let mover: UUID
    private let table: MoverTable
    private let logger: Logger

    init(of mover: UUID, _ options: ConnectionOptions, logger: Logger) {
        self.mover = mover
        self.logger = logger
        table = MoverTable(pool: ConnectionPool(options, size: 1, logger: logger))
    }

    /// Runs until cancellation.
    ///
    /// - Parameter begun: called once, when the lease begins.
    func keep(begun: () -> Void) async {
        var isKnown = false
        while !Task.isCancelled {
            do {
                try await table.enrol(mover)
                if !isKnown { begun() }
                isKnown = true
            } catch { logger.warning("failed to renew a worker lease, will retry", metadata: ["error": "\(error)"]) }
            try? await Task.sleep(for: Self.renewal)
        }
    }

    /// Ends the lease, so that others need not wait until it expires.
    func end() async {
        try? await table.enrol(mover, for: -1)
        await table.pool.close()
    }
}
