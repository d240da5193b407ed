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

/// A log in a database of its own, with the counter's schema, for one test.
struct RuntimeBench: Sendable {
    let options: ConnectionOptions
    let pool: ConnectionPool
    let partitions = 4
    let logger: Logger

    init() async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.logger = logger
        options = try ConnectionOptions(url: try await PrivateCluster.shared().makeDatabase())
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: partitions, rolePassword: nil, logger: logger)
        await connection.close()
        pool = ConnectionPool(options, size: 4, logger: logger)
    }

    /// Runs a replica while `body` runs, then shuts it down gracefully.
    func running(_ body: @Sendable @escaping (DurableRuntime<Counter>) async throws -> Void) async throws {
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: partitions, clock: SharedClock(), policy: (), logger: logger)
        let group = ServiceGroup(services: [runtime], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do { try await withTimeout(seconds: 60) { try await body(runtime) } } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Everything in the log, partition by partition.
    func log() async throws -> [Event] {
        var events: [Event] = []
        for partition in 0..<partitions {
            let rows = try await pool.run(Call(LogReader.all, [.int4(Int32(partition)), .int(0), .int(100_000)]))
            events += try rows.map { try LogReader.event($0) }
        }
        return events
    }

    func waitForLog(_ condition: @Sendable @escaping ([Event]) -> Bool) async throws {
        try await eventuallyTrue { try await condition(log()) }
    }

    /// Appends an event as another service would, with the notification that goes with it.
    func append(ping number: Int, to device: String) async throws {
        let key = AggregateKey.device(device)
        let partition = Int32(key.partition(of: partitions))
        let insert = Statement(
            """
            WITH place AS (UPDATE bus.partitions SET head = head + 1, day = current_date WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT $1, head, current_date, $2, 'other', 'other.thing.pinged', 1, $3, $4, $2, '{}' FROM place
            """)
        let now = Int(RealClock().now.milliseconds)
        _ = try await pool.run([
            Call(Statement("BEGIN")),
            Call(insert, [.int4(partition), .uuid(UUID()), .text(key.description), .int(now)], rowsExpected: 1),
            Call(Statement("COMMIT")),
            Call(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:\(partition)")]),
        ])
    }
}

/// Waits until a condition on the database holds, looking again after each round trip; the test's time-out bounds it.
func eventuallyTrue(_ condition: @Sendable () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
