import Foundation
import Logging
import Postgres
import TestSupport
import Testing

/// A mover lives as long as its process does, whatever that is at.
@Suite("Leases of movers", .serialized) struct MoverLeases {
    @Test func areRenewedDuringALongLook() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let options = try ConnectionOptions(url: suite.cluster.url(database: suite.database))
        let pool = ConnectionPool(options, size: 1, logger: logger)
        try await eventually(describe: "the mover is known") {
            try await suite.sql("SELECT count(*) FROM transfer.movers") == "1"
        }
        try await pool.transaction { connection in
            _ = try await connection.run(Call(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")))
            _ = try await connection.run(Call(Statement("LOCK TABLE transfer.states IN ACCESS EXCLUSIVE MODE")))
            // One that died a while ago, so that its attempts are looked for.
            _ = try await suite.sql(
                "INSERT INTO transfer.movers VALUES ('\(UUID())', now() - interval '1 minute')")
            try await eventually(within: 60, describe: "the look waits") {
                try await suite.sql(
                    """
                    SELECT count(*) > 0 FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND query LIKE '%FROM transfer.states%' AND pid <> pg_backend_pid()
                    """) == "t"
            }
            try await suite.expireLeases()
            try await eventually(within: 60, describe: "the lease is renewed meanwhile") {
                try await suite.sql("SELECT count(*) FROM transfer.movers WHERE expires_at >= now()") == "1"
            }
        }
        try await eventually(within: 60, describe: "the dead one is buried") {
            try await suite.sql("SELECT count(*) FROM transfer.movers") == "1"
        }
        await pool.close()
    }
}
