import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Idle sessions that block the log.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct BlockerTests {
    private static let lockHead = "UPDATE bus.partitions SET head = head WHERE partition = 0"

    /// Its pipeline has locked the partition's head and does not end. No timeout of the server runs.
    @Test func `a client that stops in the middle of a pipeline does not block the other services`() async throws {
        // Of its own, because roles and their passwords belong to the whole cluster.
        let fixture = try await RuntimeFixture(try await PrivateCluster.make(fsync: false))
        try await fixture.addService("other")
        try await fixture.cluster.sql("ALTER ROLE dormouse_other PASSWORD 'other'")
        let proxy = try await TCPProxy.start(port: fixture.cluster.port)
        let address = "127.0.0.1:\(proxy.port)/\(fixture.database)?sslmode=disable&gssencmode=disable"
        let stopped = try await Connection.open(
            try ConnectionOptions(url: "postgresql://dormouse_other:other@\(address)", pipelineTimeout: .seconds(100)),
            logger: fixture.logger)
        try await proxy.pause()
        async let pipeline: Void = {
            _ = try? await stopped.execute([
                Query(Statement("BEGIN")), Query(Statement(Self.lockHead)),
                Query(Statement("SELECT length($1)"), [.bytes([UInt8](repeating: 7, count: 1_000_000))]),
                Query(.commit),
            ])
        }()
        // Waits until the server has the first statements and expects more of the megabyte.
        let stands = Statement(
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'dormouse_other'
                AND state = 'active' AND wait_event = 'ClientRead' AND xact_start IS NOT NULL
            """)
        try await eventuallyTrue {
            try await proxy.letSomeThrough(bytes: 5000)
            return try await fixture.pool.execute(Query(stands))[0].decode(Int.self, at: 0) == 1
        }
        let device = try #require(fixture.oneDeviceInEach.first)
        let url = fixture.url(as: "dormouse_counter")
        try await fixture.running(url: url, limits: StallLimits(blocker: .milliseconds(300))) { runtime in
            try await withTimeout(seconds: 20, "the append to continue") {
                // A command waits 5 s for a database that does not answer.
                while (try? await runtime.submit(.add(1, to: device))) == nil {}
            }
            try await eventuallyTrue { runtime.stuckPartitions.isEmpty }
        }
        #expect(try await fixture.log().count == 1)
        await stopped.close()
        await pipeline
        try await proxy.stop()
        await fixture.pool.close()
        try await fixture.cluster.destroy()
    }

    @Test func `a partition that another session blocks is reported`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.pool.withConnection { holder in
            _ = try await holder.execute([
                Query(Statement("BEGIN")), Query(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")),
                Query(Statement("SELECT FROM bus.cursors WHERE partition = 0 FOR UPDATE")),
            ])
            try await fixture.running { runtime in
                // No command arrives: the process can't take the lease.
                try await eventuallyTrue { runtime.stuckPartitions.map(\.partition) == [0] }
                #expect(runtime.stuckPartitions.first?.cause == .heldUp)
                _ = try await holder.execute(Query(Statement("ROLLBACK")))
                try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
                _ = try await runtime.submit(.add(1, to: try #require(fixture.oneDeviceInEach.first)))
                #expect(runtime.stuckPartitions.isEmpty)
            }
        }
        await fixture.pool.close()
    }

    struct Blocker: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var role = "dormouse_other"
        var lock = BlockerTests.lockHead
        var patience = 0.0
        var isEnded = false
    }

    @Test(arguments: [
        Blocker(testDescription: "a stalled session of the suite", isEnded: true),
        Blocker(testDescription: "one that did something just now", patience: 60),
        Blocker(testDescription: "one of another role", role: "dormouse"),
        Blocker(
            testDescription: "one that holds a row of another schema",
            lock: "UPDATE counter.states SET version = version"),
    ])
    func `a session is ended only if all conditions hold`(_ blocker: Blocker) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.addService("other")
        try await fixture.cluster.sql(
            """
            GRANT ALL ON SCHEMA counter TO dormouse_other;
            GRANT ALL ON counter.states TO dormouse_other;
            INSERT INTO counter.states VALUES (0, 'a', '', 1, 1, 1, 0);
            """, database: fixture.database)
        let holder = try await fixture.connection(as: blocker.role)
        let waiting = try await fixture.connection(as: "dormouse_counter")
        let caller = try await fixture.connection(as: "dormouse_counter")
        _ = try await holder.execute([Query(Statement("BEGIN")), Query(Statement(blocker.lock))])
        async let wait: Void = { _ = try? await waiting.execute(Query(Statement(blocker.lock))) }()
        try await fixture.eventuallyCount(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            is: 1)
        try await fixture.awaitIdle(holder)
        let ended = try await caller.execute(Query(BlockerWatch.end, [.double(blocker.patience)]))
        #expect(try ended.map { try $0.decode(String.self, at: 1) } == (blocker.isEnded ? ["dormouse_other"] : []))
        #expect(try ended.allSatisfy { try $0.decode(Bool.self, at: 2) })
        if !blocker.isEnded { _ = try await holder.execute(Query(Statement("ROLLBACK"))) }
        await wait
        for connection in [holder, waiting, caller] { await connection.close() }
        await fixture.pool.close()
    }

    @Test func `only the first session in a chain of waits is ended`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.addService("other")
        let holder = try await fixture.connection(as: "dormouse_other")
        let waiting = [
            try await fixture.connection(as: "dormouse_counter"), try await fixture.connection(as: "dormouse_counter"),
        ]
        let pid = await holder.backendPID
        _ = try await holder.execute([Query(Statement("BEGIN")), Query(Statement(Self.lockHead))])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in waiting {
                group.addTask { _ = try await connection.execute(Query(Statement(Self.lockHead))) }
            }
            try await fixture.eventuallyCount(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
                is: 2)
            try await fixture.awaitIdle(holder)
            let ended = try await fixture.pool.execute(Query(BlockerWatch.end, [.double(0)]))
            #expect(try ended.map { try $0.decode(Int.self, at: 0) } == [pid])
            // Both sessions continue.
            try await group.waitForAll()
        }
        for connection in waiting + [holder] { await connection.close() }
        await fixture.pool.close()
    }

    @Test func `an owner without the right to end sessions gets an error that names the right`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.cluster.sql(
            """
            DO $$ BEGIN CREATE ROLE plain_owner; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
            REVOKE pg_read_all_stats, pg_signal_backend FROM plain_owner;
            ALTER FUNCTION bus.end_blockers(double precision) OWNER TO plain_owner;
            """, database: fixture.database)
        let connection = try await fixture.connection(as: "dormouse_counter")
        let error = await #expect(throws: PostgresError.self) {
            _ = try await connection.execute(Query(BlockerWatch.end, [.double(0)]))
        }
        #expect(error?.sqlState == "42501")
        #expect(error.map { String(reflecting: $0).contains("GRANT pg_read_all_stats, pg_signal_backend") } == true)
        try await fixture.cluster.sql(
            """
            GRANT pg_read_all_stats, pg_signal_backend TO plain_owner;
            GRANT USAGE ON SCHEMA bus TO plain_owner;
            GRANT SELECT ON bus.settings TO plain_owner;
            """, database: fixture.database)
        #expect(try await connection.execute(Query(BlockerWatch.end, [.double(0)])).isEmpty)
        await connection.close()
        await fixture.pool.close()
    }

    @Test func `only the services can end sessions`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.cluster.sql(
            """
            DO $$ BEGIN CREATE ROLE passer_by LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
            GRANT USAGE ON SCHEMA bus TO passer_by;
            """, database: fixture.database)
        let connection = try await fixture.connection(as: "passer_by")
        let error = await #expect(throws: PostgresError.self) {
            _ = try await connection.execute(Query(BlockerWatch.end, [.double(0)]))
        }
        #expect(error?.sqlState == "42501")
        await connection.close()
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// The role of another service of the log.
    func addService(_ name: String) async throws {
        try await pool.withConnection { try await LogSchema.grant(service: name, password: nil, $0) }
        // It appends under its own name only, but it takes the same locks.
        try await cluster.sql(
            "GRANT UPDATE ON bus.partitions TO dormouse_\(name), dormouse_counter", database: database)
    }

    func connection(as role: String) async throws -> Connection {
        let url = role == "dormouse" ? url : url(as: role)
        return try await Connection.open(try ConnectionOptions(url: url), logger: logger)
    }

    /// Waits until a session has done nothing for a second: before that it is never ended.
    func awaitIdle(_ connection: Connection) async throws {
        let idle = """
            SELECT count(*) FROM pg_stat_activity
            WHERE pid = \(await connection.backendPID) AND state_change < clock_timestamp() - interval '1 second'
            """
        try await eventuallyCount(idle, is: 1)
    }

    /// Waits until a query that counts gives a number.
    func eventuallyCount(_ query: String, is count: Int) async throws {
        try await eventuallyTrue { try await pool.execute(Query(Statement(query)))[0].decode(Int.self, at: 0) == count }
    }
}
