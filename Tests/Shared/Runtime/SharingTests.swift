import EventLog
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport
import Testing

/// The part of a process in the assignment of partitions, which its readiness reports.
@Suite(.timeLimit(.minutes(5))) struct SharingTests {
    @Test func `a replica without a partition takes part in the assignment`() async throws {
        let bench = try await RuntimeBench()
        // One replica more than partitions.
        try await bench.running { first in
            try await bench.running { second in
                try await bench.running { third in
                    try await bench.running { fourth in
                        try await eventuallyTrue { try await bench.owners() == [1, 1, 1, 1] }
                        try await bench.running { fifth in
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
        await bench.pool.close()
    }

    /// A service compares the numbers before it starts.
    @Test func `a process that knows fewer partitions than the log leaves the others alone`() async throws {
        let bench = try await RuntimeBench()
        let options = try ConnectionOptions(url: bench.url)
        let pool = ConnectionPool(options, size: 2, logger: bench.logger)
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: 2, clock: SharedClock(), policy: (), logger: bench.logger)
        let group = ServiceGroup(services: [runtime], logger: bench.logger)
        // At first another process holds the partitions that this one knows.
        let hold = Statement(
            """
            UPDATE bus.cursors SET owner = gen_random_uuid(), lease_expires = clock_timestamp() + interval '4 seconds'
            WHERE partition < 2
            """)
        _ = try await bench.pool.run(Call(hold))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do {
                try await eventually(describe: "the process owns the partitions that it knows") {
                    await runtime.ownedPartitions == 2
                }
                let others = Statement("SELECT count(*) FROM bus.cursors WHERE partition >= 2 AND owner IS NOT NULL")
                #expect(try await bench.pool.run(Call(others))[0].int(0) == 0)
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        await bench.pool.close()
    }

    @Test func `a replica that is disconnected for the term of the leases does not take part`() async throws {
        let bench = try await RuntimeBench()
        let proxy = try await TCPProxy.start(port: bench.cluster.port)
        let url = bench.cluster.tcpURL(database: bench.database, port: proxy.port)
        try await bench.running(url: url) { runtime in
            try await eventuallyTrue { await runtime.sharesPartitions }
            proxy.refuse(true)
            try await proxy.cutAll()
            try await eventuallyTrue { await !runtime.sharesPartitions }
            proxy.refuse(false)
            try await eventuallyTrue { await runtime.sharesPartitions }
        }
        await bench.pool.close()
    }
}
