import Logging
import Postgres
import Telemetry

/// Ends idle sessions that block a partition of this process, through `bus.end_blockers`. The server's own timeouts do
/// not run while it waits for the rest of a pipeline.
///
/// It looks only while a batch of this process waits for a lock.
struct BlockerWatch: Sendable {
    static let pause = Duration.milliseconds(500)
    static let end = Statement("SELECT pid, role, ended FROM bus.end_blockers($1)")

    /// A connection pool of its own: the waiting batches may use all other connections. It opens a connection on
    /// demand.
    let pool: ConnectionPool
    let patience: Duration
    let progress: [PartitionProgress]
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async {
        var isAllowed = true
        while (try? await Task.sleep(for: Self.pause)) != nil {
            guard progress.contains(where: { $0.isHeldUp }) else { continue }
            do {
                try await look()
                isAllowed = true
            } catch  where error.sqlState == "42501" {
                // The error names the missing right. It is logged once.
                if isAllowed { logger.error("failed to look for blocking sessions", error: error) }
                isAllowed = false
            } catch {
                logger.debug("failed to look for blocking sessions", error: error)
            }
        }
        await pool.close()
    }

    private func look() async throws(PostgresError) {
        let blockers = try await pool.execute(Self.end, .double(patience / .seconds(1)))
        for (pid, role, hasEnded) in try blockers.decode((Int, String, Bool).self) {
            let metadata: Logger.Metadata = [LogKey.pid: "\(pid)", LogKey.role: "\(role)"]
            if hasEnded {
                logger.warning("ended idle session that blocked the log", metadata: metadata)
            } else {
                logger.error(
                    "failed to end session that blocks the log, grant its role to the owner of the log",
                    metadata: metadata)
            }
        }
    }
}
