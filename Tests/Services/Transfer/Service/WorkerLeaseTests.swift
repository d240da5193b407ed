import Foundation
import Logging
import Postgres
import TestSupport
import Testing

/// A worker renews its lease while its process lives, whatever the process does.
@Suite("Leases of transfer workers", .tags(.database, .processes), .serialized) struct WorkerLeases {
    @Test func `a lease is renewed during a long scan`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let options = try ConnectionOptions(url: suite.cluster.url(database: suite.database))
        let pool = ConnectionPool(options, size: 1, logger: logger)
        try await eventually(describe: "the worker has a lease") {
            try await suite.sql("SELECT count(*) FROM transfer.workers") == "1"
        }
        try await pool.transaction { connection in
            _ = try await connection.execute(Query(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")))
            _ = try await connection.execute(Query(Statement("LOCK TABLE transfer.states IN ACCESS EXCLUSIVE MODE")))
            // A worker that died a while ago, so that the scan looks for its attempts.
            _ = try await suite.sql(
                "INSERT INTO transfer.workers VALUES ('\(UUID())', now() - interval '1 minute')")
            try await eventually(within: 60, describe: "the scan waits for a lock") {
                try await suite.sql(
                    """
                    SELECT count(*) > 0 FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND query LIKE '%FROM transfer.states%' AND pid <> pg_backend_pid()
                    """) == "t"
            }
            try await suite.expireLeases()
            try await eventually(within: 60, describe: "the lease is renewed") {
                try await suite.sql("SELECT count(*) FROM transfer.workers WHERE expires_at >= now()") == "1"
            }
        }
        try await eventually(within: 60, describe: "the lease of the dead worker is removed") {
            try await suite.sql("SELECT count(*) FROM transfer.workers") == "1"
        }
        await pool.close()
    }
}
