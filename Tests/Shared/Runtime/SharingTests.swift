import EventLog
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport
import Testing

/// The part of a process in the assignment of partitions, which its readiness reports.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct SharingTests {
    @Test func `a replica without a partition takes part in the assignment`() async throws {
        let fixture = try await RuntimeFixture()
        // One replica more than partitions.
        try await fixture.running { first in
            try await fixture.running { second in
                try await fixture.running { third in
                    try await fixture.running { fourth in
                        try await eventuallyTrue { try await fixture.owners() == [1, 1, 1, 1] }
                        try await fixture.running { fifth in
                            try await eventuallyTrue { await fifth.sharesPartitions }
                            try await eventuallyTrue { await fifth.ownedPartitions == 0 }
                            for replica in [first, second, third, fourth] {
                                try await eventuallyTrue { await replica.sharesPartitions }
                            }
                        }
                    }
                }
            }
        }
        await fixture.pool.close()
    }

    /// A service compares the numbers before it starts.
    @Test func `a process that knows fewer partitions than the log leaves the others alone`() async throws {
        let fixture = try await RuntimeFixture()
        let options = try ConnectionOptions(url: fixture.url)
        let pool = ConnectionPool(options, size: 2, logger: fixture.logger)
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: 2, clock: SharedClock(), policy: (), logger: fixture.logger)
        let group = ServiceGroup(services: [runtime], logger: fixture.logger)
        // At first another process holds the partitions that this one knows.
        let hold = Statement(
            """
            UPDATE bus.cursors SET owner = gen_random_uuid(), lease_expires = clock_timestamp() + interval '4 seconds'
            WHERE partition < 2
            """)
        _ = try await fixture.pool.execute(Query(hold))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do {
                try await eventually(describe: "the process owns the partitions that it knows") {
                    await runtime.ownedPartitions == 2
                }
                let others = Statement("SELECT count(*) FROM bus.cursors WHERE partition >= 2 AND owner IS NOT NULL")
                #expect(try await fixture.pool.execute(Query(others))[0].decode(Int.self, at: 0) == 0)
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        await fixture.pool.close()
    }

    @Test func `a replica that is disconnected for the term of the leases does not take part`() async throws {
        let fixture = try await RuntimeFixture()
        let proxy = try await TCPProxy.start(port: fixture.cluster.port)
        let url = fixture.cluster.tcpURL(database: fixture.database, port: proxy.port)
        try await fixture.running(url: url) { runtime in
            try await eventuallyTrue { await runtime.sharesPartitions }
            proxy.refuse(true)
            try await proxy.cutAll()
            try await eventuallyTrue { await !runtime.sharesPartitions }
            proxy.refuse(false)
            try await eventuallyTrue { await runtime.sharesPartitions }
        }
        await fixture.pool.close()
    }

    /// Six waits of half a second and a pause would be longer than the term.
    @Test func `rows that another session holds delay the other leases by less than their term`() async throws {
        let fixture = try await RuntimeFixture(partitions: 8)
        let limits = StallLimits(blocker: .seconds(100))
        try await fixture.running(limits: limits) { runtime in
            try await eventuallyTrue { await runtime.ownedPartitions == 8 }
            let holder = try await Connection.open(try ConnectionOptions(url: fixture.url), logger: fixture.logger)
            _ = try await holder.execute([
                Query(Statement("SET idle_in_transaction_session_timeout = 0")), Query(Statement("BEGIN")),
                Query(Statement("SELECT 1 FROM bus.cursors WHERE partition < 6 FOR UPDATE")),
            ])
            let expiry = Statement(
                """
                SELECT floor(extract(epoch FROM min(lease_expires)) * 1000)::int8 FROM bus.cursors
                WHERE partition >= 6 AND owner IS NOT NULL
                """)
            // The machine may be slow, so the shortest of some intervals counts. The first one may include a renewal before
            // the rows were held.
            var renewals: [Int] = []
            var intervals: [Int] { zip(renewals.dropFirst(2), renewals.dropFirst()).map(-) }
            while (intervals.min() ?? .max) >= 3000, intervals.count < 5 {
                let expires = try await fixture.pool.execute(Query(expiry))[0].decode(Int.self, at: 0)
                if expires != renewals.last { renewals.append(expires) }
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(intervals.contains { $0 < 3000 }, "milliseconds between renewals: \(intervals)")
            await holder.close()
        }
        await fixture.pool.close()
    }
}
