import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport

/// A cluster of its own that flushes to disk, with a log of 16 partitions and the counter's schema.
struct CounterBench {
    static let partitions = 16
    let cluster: PrivateCluster
    let name: String
    let url: String
    let pool: ConnectionPool
    let options: ConnectionOptions
    let logger: Logger
    private let clock = SharedClock()

    init() async throws {
        var logger = Logger(label: "benchmarks")
        logger.logLevel = .error
        self.logger = logger
        cluster = try await PrivateCluster.make(settings: ["shared_buffers": "512MB", "max_wal_size": "4GB"])
        name = try await cluster.makeNamedDatabase()
        url = cluster.url(database: name)
        options = try ConnectionOptions(url: url)
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: Self.partitions, rolePassword: nil, logger: logger)
        await connection.close()
        pool = ConnectionPool(options, size: 8, logger: logger)
    }

    func running(_ body: @Sendable @escaping (DurableRuntime<Counter>) async throws -> Void) async throws {
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: Self.partitions, clock: clock, policy: (), logger: logger)
        let follower = ClockFollower(clock, pool: pool, news: runtime.news, poll: .milliseconds(100), logger: logger)
        let group = ServiceGroup(services: [runtime, follower], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            while await runtime.ownedPartitions < Self.partitions { try await Task.sleep(for: .milliseconds(20)) }
            try await body(runtime)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await pool.close()
        try await cluster.destroy()
    }

    /// How many events the log holds.
    func events() async throws -> Int {
        try await pool.run(Call(Statement("SELECT sum(head)::int8 FROM bus.partitions")))[0].int(0)
    }
}
