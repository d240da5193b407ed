import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport
import Timeline

typealias CounterBench = MachineFixture<Counter>

/// A private cluster that flushes to disk, with a log of 16 partitions and the schema of one machine.
struct MachineFixture<M: Machine> {
    static var partitions: Int { 16 }
    let cluster: PrivateCluster
    let name: String
    let url: String
    let pool: ConnectionPool
    let options: ConnectionOptions
    let logger: Logger
    private let clock = SharedClock()
    /// The partitions that commit together.
    private let placement: LogPlacement

    /// - Parameter workers: the number of workers of Citus; 0 starts one PostgreSQL server.
    init(workers: Int = 0) async throws {
        var logger = Logger(label: "benchmarks")
        logger.logLevel = .error
        self.logger = logger
        cluster = try await PrivateCluster.measured(
            workers: workers, settings: ["shared_buffers": "512MB", "max_wal_size": "4GB"])
        name = try await cluster.makeNamedDatabase()
        url = cluster.url(database: name)
        options = try ConnectionOptions(url: url)
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: M.name, connection, partitions: Self.partitions, rolePassword: nil, logger: logger)
        placement = try await LogPlacement.read(connection)
        await connection.close()
        pool = ConnectionPool(options, size: 8, logger: logger)
    }

    /// - Returns: the result of the body, after the end of the runtime and the removal of the cluster.
    func running<Outcome: Sendable>(
        _ policy: M.Policy, _ body: @Sendable @escaping (DurableRuntime<M>) async throws -> Outcome
    ) async throws -> Outcome {
        let runtime = DurableRuntime<M>(
            pool: pool, options: options, partitions: Self.partitions, clock: clock, policy: policy,
            placement: placement, logger: logger)
        let follower = ClockFollower(
            clock, pool: pool, updates: runtime.updates, poll: .milliseconds(100), logger: logger)
        let group = ServiceGroup(services: [runtime, follower], logger: logger)
        let outcome = try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            while await runtime.ownedPartitions < Self.partitions { try await Task.sleep(for: .milliseconds(20)) }
            let outcome = try await body(runtime)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return outcome
        }
        await pool.close()
        try await cluster.destroy()
        return outcome
    }

    /// Stops the suite's clock.
    func freeze(at moment: Instant) async throws {
        _ = try await pool.execute(
            Query(
                Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = $1, real_epoch = 0"),
                [.int(Int(moment.milliseconds))]))
    }

    /// The number of events in the log.
    func events() async throws -> Int {
        try await pool.execute(Query(Statement("SELECT sum(head)::int8 FROM bus.partitions")))[0].decode(Int.self)
    }
}

extension PrivateCluster {
    /// Starts the server of a benchmark, which flushes to disk.
    ///
    /// - Parameters:
    ///   - workers: the number of workers of Citus; 0 starts one server.
    ///   - settings: more settings for `postgresql.conf`, unquoted.
    /// - Throws: `ToolFailed` if Citus is not installed, `ClusterFailed`.
    static func measured(workers: Int, settings: [String: String]) async throws -> PrivateCluster {
        guard workers > 0 else { return try await make(settings: settings) }
        guard try await hasCitus() else {
            throw ToolFailed(description: "Citus is not installed; deploy/citus.md says how to install it")
        }
        return try await makeCitus(workers: workers, settings: settings)
    }
}

extension MachineFixture where M.Policy == Void {
    func running<Outcome: Sendable>(
        _ body: @Sendable @escaping (DurableRuntime<M>) async throws -> Outcome
    ) async throws -> Outcome { try await running((), body) }
}
