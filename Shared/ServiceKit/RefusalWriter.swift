import EventLog
import HTTPKit
import Logging
import Postgres
import ServiceLifecycle
import Telemetry

/// Adds the refused credentials to the audit trail once a minute and at shutdown, so that no request waits for it.
struct RefusalWriter: Service {
    let refused: RefusedCredentials
    let pool: ConnectionPool
    var interval = Duration.seconds(60)
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: interval)) != nil { await write() }
        }
        // A cancelled task can't send a query, so a task of its own writes the last counts. It ends before this one.
        await Task { await write() }.value
    }

    /// Writes the counts. After a failure, the next write includes them.
    func write() async {
        let entries = refused.take()
        guard !entries.isEmpty else { return }
        do { _ = try await pool.execute(entries.map(\.query)) } catch {
            refused.putBack(entries)
            logger.warning("failed to write refused credentials, will retry", error: error)
        }
    }
}
