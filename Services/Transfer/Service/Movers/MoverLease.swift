import Foundation
import Logging
import Postgres
import ServiceKit

/// Tells the other movers that this one lives.
///
/// It does nothing else, and has a connection of its own: however much there is to do, the lease does not lapse of it.
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
    /// - Parameter begun: called once the others know of this mover.
    func keep(begun: () -> Void) async {
        var isKnown = false
        while !Task.isCancelled {
            do {
                try await table.enrol(mover)
                if !isKnown { begun() }
                isKnown = true
            } catch { logger.warning("the mover's lease could not be renewed", metadata: ["error": "\(error)"]) }
            try? await Task.sleep(for: Self.renewal)
        }
    }

    /// Others need not wait for the lease to run out; where this fails they do.
    func end() async {
        try? await table.enrol(mover, for: -1)
        await table.pool.close()
    }
}
