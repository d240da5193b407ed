import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Records
import Runtime
import ServiceLifecycle
import TestSupport
import Timeline

/// A log in a new database with the counter's schema, for one test.
struct OpsFixture: Sendable {
    static let partitions = 3

    let url: String
    let options: ConnectionOptions
    let pool: ConnectionPool
    let logger: Logger
    var queries: LogQueries { LogQueries(pool: pool, partitions: Self.partitions) }
    var control: ClockControl { ClockControl(pool: pool) }

    init(virtual: Bool = false) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.logger = logger
        url = try await PrivateCluster.shared().makeDatabase()
        options = try ConnectionOptions(url: url)
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: Self.partitions, rolePassword: nil, logger: logger)
        try await LogSchema.grantOperators(password: nil, connection)
        if virtual { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
        pool = ConnectionPool(options, size: 4, logger: logger)
    }

    /// Runs a counter that follows the clock while `body` runs, then shuts it down.
    func running(_ body: @Sendable @escaping (DurableRuntime<Counter>) async throws -> Void) async throws {
        let clock = SharedClock()
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: Self.partitions, clock: clock, policy: (), logger: logger)
        let follower = ClockFollower(clock, pool: pool, updates: runtime.updates, logger: logger)
        let group = ServiceGroup(services: [runtime, follower], logger: logger)
        try await group.run { try await body(runtime) }
    }

    func sql(_ text: String, _ parameters: Parameter...) async throws -> Rows {
        try await pool.execute(Query(Statement(text), parameters))
    }

    /// Appends an event in a partition, on a day before today.
    @discardableResult
    func append(
        _ type: String = "other.thing.pinged", source: String = "other", to device: String, daysAgo: Int = 0,
        id: UUID = UUID(), correlation: UUID? = nil, causation: UUID? = nil, app: String? = nil,
        at time: Instant = RealClock().now, data: String = "{}"
    ) async throws -> UUID {
        let key = AggregateKey.device(device)
        let statement = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1 WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
                causationid, data)
            SELECT $1, head, current_date - $2::integer, $3, $4, $5, 1, $6, $7, $8, $9, $10, $11::json FROM moved
            """)
        _ = try await pool.execute(
            Query(
                statement,
                [
                    .int4(Int32(key.partition(of: Self.partitions))), .int4(Int32(daysAgo)), .uuid(id), .text(source),
                    .text(type), .text(key.description), .text(app), .int(Int(time.milliseconds)),
                    .uuid(correlation ?? id), .uuid(causation), .json(Array(data.utf8)),
                ], rowsExpected: 1))
        return id
    }

    /// Creates the table of a past day.
    func makeDay(daysAgo: Int) async throws {
        _ = try await sql(
            """
            DO $$ DECLARE day date := current_date - \(daysAgo); BEGIN
                EXECUTE format('CREATE TABLE bus.%I PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                    'events_' || to_char(day, 'YYYYMMDD'), day, day + 1);
            END $$
            """)
    }

    /// Stores a counter's state, as a batch does.
    func store(_ device: String, offset: Int, state: [UInt8]) async throws {
        let key = AggregateKey.device(device)
        _ = try await sql(
            """
            INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at)
            VALUES ($1, $2, $3, 1, $4, $4, 0)
            ON CONFLICT (partition, key) DO UPDATE SET state = excluded.state, version = excluded.version,
                event_count = excluded.event_count
            """, .int4(Int32(key.partition(of: Self.partitions))), .text(key.description), .bytes(state), .int(offset))
    }

    /// Moves all cursors to the heads.
    func readAll() async throws {
        _ = try await sql(
            "UPDATE bus.cursors AS c SET log_offset = p.head FROM bus.partitions AS p WHERE p.partition = c.partition")
    }
}

extension Submission<Counter> {
    init(_ command: Counter.Command, to device: String) {
        self.init(key: .device(device), command: command, origin: Origin(id: UUID())) { aggregate, _ in
            Array(String(aggregate.state.total).utf8)
        }
    }
}
