import EventLog
import Logging
import Postgres
import Runtime
import TestSupport
import Testing

/// Databases with Citus that can't be used. Each stops the start with one line that says what to do.
@Suite(
    .tags(.database), .timeLimit(.minutes(5)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct CitusErrorTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func connect(_ url: String) async throws -> Connection {
        try await Connection.open(try ConnectionOptions(url: url), logger: logger)
    }

    private func migrate(_ url: String) async throws {
        let connection = try await connect(url)
        do {
            try await LogSchema.migrate(connection, partitions: 4, shards: 4, logger: logger)
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    @Test func `a worker is refused`() async throws {
        let cluster = try await PrivateCluster.sharedCitus()
        let fixture = try await RuntimeFixture(cluster)
        let url = cluster.workers[0].url(database: fixture.database)
        await #expect(throws: CitusError.worker) { try await migrate(url) }
        let connection = try await connect(url)
        await #expect(throws: CitusError.worker) { try await LogPlacement.read(connection) }
        // A worker has no settings of a log. The start reports the cause, not that the log is missing.
        await #expect(throws: CitusError.worker) { try await LogSchema.verify(connection, partitions: 4) }
        await connection.close()
        await fixture.pool.close()
    }

    @Test func `a coordinator without workers is refused before the first migration`() async throws {
        let cluster = try await PrivateCluster.sharedCitus()
        let database = "no_workers"
        try await cluster.sql("CREATE DATABASE \(database) TEMPLATE template0")
        try await cluster.sql("CREATE EXTENSION citus", database: database)
        await #expect(throws: CitusError.noWorkers) { try await migrate(cluster.url(database: database)) }
        #expect(try await cluster.sql("SELECT to_regnamespace('bus') IS NULL", database: database) == "t")
    }

    @Test func `a log that is distributed only in part is refused, and migrate completes it`() async throws {
        // A cluster of its own: undistribute_table fails while another database of the cluster changes roles.
        let cluster = try await PrivateCluster.makeCitus(fsync: false)
        let fixture = try await RuntimeFixture(cluster)
        try await cluster.sql(
            "SELECT undistribute_table('bus.retention'); SELECT undistribute_table('bus.erasures')",
            database: fixture.database)
        let connection = try await connect(fixture.url)
        let error = CitusError.notDistributed(tables: "bus.retention, bus.erasures")
        await #expect(throws: error) { try await LogPlacement.read(connection) }
        #expect(
            error.description
                == "the database has the extension citus, but these tables are not distributed: bus.retention, "
                + "bus.erasures; run the service's `migrate` command")
        try await migrate(fixture.url)
        #expect(try await LogPlacement.read(connection).isDistributed)

        // The extension came after the migration of a service.
        try await cluster.sql("SELECT undistribute_table('counter.states')", database: fixture.database)
        let ofService = CitusError.notDistributed(tables: #""counter".states"#)
        await #expect(throws: ofService) { try await LogPlacement.read(connection, service: "counter") }
        #expect(try await LogPlacement.read(connection).isDistributed)
        // Distributed, but not with the log.
        try await cluster.sql(
            "SELECT create_distributed_table('counter.states', 'partition', colocate_with => 'none')",
            database: fixture.database)
        await #expect(throws: ofService) { try await LogPlacement.read(connection, service: "counter") }
        await connection.close()
        await fixture.pool.close()
        try await cluster.destroy()
    }

    /// Citus moves the rows to the shards and keeps a copy, which no erasure would reach.
    @Test func `no row of a distributed log stays on the coordinator`() async throws {
        let cluster = try await PrivateCluster.makeCitus(fsync: false)
        let fixture = try await RuntimeFixture(cluster)
        try await fixture.pool.append(ForeignEvent(to: "d1"), partitions: 4)
        let local = """
            SELECT coalesce(sum(pg_relation_size(relid)), 0) FROM pg_partition_tree('bus.events')
            """
        let distribute = "SELECT create_distributed_table('bus.events', 'partition', colocate_with => 'bus.partitions')"
        // The second migration was killed after it had distributed the table.
        for wasKilled in [false, true] {
            try await cluster.sql("SELECT undistribute_table('bus.events')", database: fixture.database)
            if wasKilled { try await cluster.sql(distribute, database: fixture.database) }
            #expect(try await cluster.sql(local, database: fixture.database) != "0")
            try await migrate(fixture.url)
            #expect(try await cluster.sql(local, database: fixture.database) == "0")
            #expect(try await cluster.sql("SELECT count(*) FROM bus.events", database: fixture.database) == "1")
        }
        await fixture.pool.close()
        try await cluster.destroy()
    }

    @Test func `an old version of the extension is refused`() async throws {
        let cluster = try await PrivateCluster.sharedCitus()
        let fixture = try await RuntimeFixture(cluster)
        try await cluster.sql(
            """
            SET allow_system_table_mods = on; SET citus.enable_version_checks = off;
            UPDATE pg_extension SET extversion = '11.3-1' WHERE extname = 'citus'
            """, database: fixture.database)
        let connection = try await connect(fixture.url)
        await #expect(throws: CitusError.tooOld("11.3-1")) { try await LogPlacement.read(connection) }
        await connection.close()
        await fixture.pool.close()
    }
}
