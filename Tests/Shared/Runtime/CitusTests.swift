import Contracts
import EventLog
import Foundation
import Logging
import Postgres
import Runtime
import Synchronization
import TestSupport
import Testing

/// Replicas and the log on Citus: a coordinator with two workers.
@Suite(
    .tags(.database, .processes), .serialized, .timeLimit(.minutes(10)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct CitusTests {
    @Test func `no acknowledged command is lost when workers are killed under load`() async throws {
        try await underLoad { cluster, _, load in
            for worker in cluster.workers + cluster.workers + cluster.workers {
                try await load.acknowledges(50)
                try await worker.kill()
                try await worker.start()
            }
        }
    }

    @Test func `no acknowledged command is lost when the coordinator is killed under load`() async throws {
        try await underLoad { cluster, _, load in
            for _ in 0..<2 {
                try await load.acknowledges(50)
                try await cluster.kill()
                try await cluster.start()
            }
        }
    }

    @Test func `no acknowledged command is lost when replicas are killed under load`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        var replicas = [
            try await CounterProcess(fixture, "load", "3", "40"), try await CounterProcess(fixture, "load", "3", "40"),
        ]
        var acknowledged: [String] = []
        for round in 0..<4 {
            for replica in replicas { try await replica.acknowledges(10) }
            let dead = replicas[round % 2]
            dead.process.signal(SIGKILL)
            _ = try await dead.process.exit()
            acknowledged += dead.acknowledged
            replicas[round % 2] = try await CounterProcess(fixture, "load", "3", "40")
        }
        // The coordinator records each transaction of several shards, and a background process deletes the records of ended
        // ones. It pauses here.
        try await fixture.cluster.sql("ALTER SYSTEM SET citus.recover_2pc_interval = -1")
        try await fixture.cluster.sql("SELECT pg_reload_conf()")
        let transactions = "SELECT count(*) FROM pg_dist_transaction"
        func count() async throws -> Int {
            Int(try await fixture.cluster.sql(transactions, database: fixture.database)) ?? -1
        }
        let before = try await count()
        for replica in replicas { try await replica.acknowledges(20) }
        #expect(try await count() == before)
        try await fixture.cluster.sql("ALTER SYSTEM RESET citus.recover_2pc_interval")
        try await fixture.cluster.sql("SELECT pg_reload_conf()")
        for replica in replicas {
            try await replica.stop()
            acknowledged += replica.acknowledged
        }
        try await fixture.audit(acknowledged: acknowledged)
        await fixture.pool.close()
    }

    @Test func `the standby of a worker takes its place under load`() async throws {
        try await underLoad { cluster, database, load in
            let worker = cluster.workers[0]
            let standby = try await worker.makeCitusStandby()
            try await load.acknowledges(50)
            try await worker.kill()
            try await standby.promote()
            try await cluster.sql(
                """
                SELECT citus_update_node(nodeid, '\(standby.socketDirectory)', \(standby.port), force => true)
                FROM pg_dist_node WHERE nodeport = \(worker.port)
                """, database: database)
            try await load.acknowledges(50)
            return standby
        }
    }

    @Test func `shards move to another worker and back under load`() async throws {
        try await underLoad { cluster, database, load in
            let drained = cluster.workers[0]
            @Sendable func shards() async throws -> Int {
                let count = try await cluster.sql(
                    "SELECT count(*) FROM citus_shards WHERE nodeport = \(drained.port)", database: database)
                return try #require(Int(count))
            }
            let node = "'\(drained.socketDirectory)', \(drained.port)"
            try await load.acknowledges(50)
            try await cluster.sql("SELECT citus_drain_node(\(node))", database: database)
            #expect(try await shards() == 0)
            try await load.acknowledges(50)
            try await cluster.sql(
                "SELECT citus_set_node_property(\(node), 'shouldhaveshards', true)", database: database)
            try await cluster.sql("SELECT citus_rebalance_start()", database: database)
            try await cluster.sql("SELECT citus_rebalance_wait()", database: database)
            #expect(try await shards() > 0)
        }
    }

    /// Disturbs a cluster of its own under commands and events of other services, then checks the log.
    ///
    /// - Parameter disturb: gets the cluster, the name of the database and the load. Its result lives until the end.
    private func underLoad<T: Sendable>(
        _ disturb: @Sendable @escaping (PrivateCluster, String, CounterProcess) async throws -> T
    ) async throws {
        let cluster = try await PrivateCluster.makeCitus()
        let fixture = try await RuntimeFixture(cluster)
        let load = try await CounterProcess(fixture, "load", "5", "50")
        let kept = Mutex<T?>(nil)
        let pings = try await fixture.pinging {
            let result = try await disturb(cluster, fixture.database, load)
            kept.withLock { $0 = result }
            try await load.acknowledges(50)
        }
        try await fixture.counted(pings)
        try await load.stop()
        try await fixture.audit(acknowledged: load.acknowledged, pings: pings)
        await fixture.pool.close()
        try await cluster.destroy()
        withExtendedLifetime(kept) {}
    }

    @Test func `replicas share partitions, and events of other services reach them`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        let first = try await CounterProcess(fixture, "load", "3", "20")
        let second = try await CounterProcess(fixture, "load", "3", "20")
        let pings = try await fixture.pinging {
            try await eventuallyTrue { try await fixture.owners() == [2, 2] }
            try await first.acknowledges(100)
            try await second.acknowledges(100)
        }
        try await fixture.counted(pings)
        try await first.stop()
        try await second.stop()
        try await fixture.audit(acknowledged: first.acknowledged + second.acknowledged, pings: pings)
        await fixture.pool.close()
    }

    @Test func `a service role can use the log with the rights of a service`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        try await fixture.running(url: fixture.url(as: "dormouse_counter")) { runtime in
            for device in fixture.oneDeviceInEach { _ = try await runtime.submit(.add(1, to: device)) }
            #expect(try await runtime.foldCheck(.device(fixture.oneDeviceInEach[0])))
        }
        try await fixture.audit()
        await fixture.pool.close()
    }

    @Test func `the days are created and dropped on all nodes`() async throws {
        let fixture = try await RuntimeFixture(try await PrivateCluster.sharedCitus())
        // A service role makes the days ahead.
        let ahead = 12
        try await fixture.cluster.sql(
            "SET ROLE dormouse_counter; SELECT bus.ensure_days(\(ahead))", database: fixture.database)
        let placed = try await fixture.cluster.sql(
            """
            SELECT count(DISTINCT s.nodeport), count(DISTINCT s.shardid) / count(DISTINCT d.day)
            FROM bus.days() AS d
            JOIN citus_shards AS s ON s.table_name = format('bus.%I', d.name)::regclass
            WHERE d.day BETWEEN current_date + 8 AND current_date + \(ahead) AND d.is_attached
            HAVING count(DISTINCT d.day) = \(ahead - 7)
            """, database: fixture.database)
        #expect(placed == "2|4", "all shards of the later days are on the two workers")
        let maintenance = LogMaintenance(pool: fixture.pool, retentionDays: 1, logger: fixture.logger)
        try await fixture.cluster.sql(
            """
            CREATE TABLE bus.events_20200101 PARTITION OF bus.events FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')
            """, database: fixture.database)
        let round = try await maintenance.round()
        #expect(round?.dropped == ["events_20200101"])
        for node in fixture.cluster.workers + [fixture.cluster] {
            let left = try await node.sql(
                "SELECT count(*) FROM pg_class WHERE relname LIKE 'events_20200101%'", database: fixture.database)
            #expect(left == "0")
        }
        await fixture.pool.close()
    }

    @Test(arguments: [(nil, 4), (6, 6)] as [(Int?, Int)])
    func `a log has two shards on each worker, or as many as it is told`(shards: Int?, expected: Int) async throws {
        let cluster = try await PrivateCluster.sharedCitus()
        let database = try await cluster.makeNamedDatabase()
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let connection = try await Connection.open(
            try ConnectionOptions(url: cluster.url(database: database)), logger: logger)
        try await RuntimeSchema.migrate(
            service: "counter", connection, partitions: 8, shards: shards, rolePassword: nil, logger: logger)
        let placement = try await LogPlacement.read(connection)
        await connection.close()
        let counts = try await cluster.sql(
            """
            SELECT string_agg(DISTINCT n::text, ' ') FROM (
                SELECT count(*) AS n FROM pg_dist_shard GROUP BY logicalrelid) AS s
            """, database: database)
        #expect(counts == "\(expected)", "all tables have the same shards")
        #expect(placement.groups(of: 0..<8).count <= expected)
    }
}
