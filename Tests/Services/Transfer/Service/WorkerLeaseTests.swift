import Foundation
import Logging
import NIOHTTP1
import Postgres
import TestSupport
import Testing

@testable import TransferService

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

    /// After an outage of the database all leases have expired, and a scan may be faster than the renewal.
    @Test func `a worker goes on with its attempts when its lease has expired`() async throws {
        let (suite, transfer) = try await TransferSuite.start()
        defer { transfer.signal(SIGTERM) }
        let bytes = noise(4 << 20, seed: 17)
        _ = try await suite.send(.PUT, suite.transferPort, "/content/big", bytes)
        try await suite.prepare("phone")
        try await suite.proxy.pause()
        try await suite.downloadSome(of: "big")
        let dead = UUID()
        _ = try await suite.sql(
            """
            INSERT INTO transfer.workers VALUES ('\(dead)', now() - interval '1 minute');
            UPDATE transfer.workers SET expires_at = now() - interval '1 minute';
            CREATE FUNCTION transfer.fail_renewal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE 'no renewal';
            END $$;
            CREATE TRIGGER fail_renewal BEFORE INSERT OR UPDATE ON transfer.workers
                FOR EACH ROW EXECUTE FUNCTION transfer.fail_renewal()
            """)
        try await eventually(describe: "the scan for attempts of dead workers is over") {
            try await suite.sql("SELECT count(*) FROM transfer.workers WHERE worker = '\(dead)'") == "0"
        }
        suite.proxy.resume()
        #expect(try await suite.completed(1).ends == ["finished"])
    }
}

/// All leases expire during an outage of the database, though their workers live.
@Suite("Trust in leases") struct LeaseTrusts {
    @Test func `a failure of the database delays take-overs by the time of a lease`() {
        var trust = LeaseTrust(lease: .seconds(10))
        let start = ContinuousClock.now
        #expect(trust.canTakeOver(at: start))
        trust.databaseFailed(at: start)
        trust.databaseFailed(at: start + .seconds(4))
        #expect([4, 13.9, 14].map { trust.canTakeOver(at: start + .seconds($0)) } == [false, false, true])
    }
}
