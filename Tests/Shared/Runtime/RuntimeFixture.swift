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

/// A log in its own database, with the counter's schema, for one test.
struct RuntimeFixture: Sendable {
    let cluster: PrivateCluster
    let database: String
    /// A direct connection for the test itself.
    let pool: ConnectionPool
    let partitions: Int
    /// The partitions that commit together.
    let placement: LogPlacement
    let logger: Logger

    var url: String { cluster.url(database: database) }

    /// Connects as another role, without a password.
    func url(as role: String) -> String {
        "postgresql://\(role)@/\(database)?host=\(cluster.socketDirectory)&port=\(cluster.port)&connect_timeout=60"
    }

    init(_ cluster: PrivateCluster? = nil, partitions: Int = 4) async throws {
        self.partitions = partitions
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.logger = logger
        if let cluster { self.cluster = cluster } else { self.cluster = try await PrivateCluster.shared() }
        database = try await self.cluster.makeNamedDatabase()
        // The setting of the services' roles: it limits how long a stopped process blocks its partition.
        try await self.cluster.sql("ALTER DATABASE \(database) SET idle_in_transaction_session_timeout = '2s'")
        let options = try ConnectionOptions(url: self.cluster.url(database: database))
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: partitions, rolePassword: nil, logger: logger)
        placement = try await LogPlacement.read(connection)
        await connection.close()
        pool = ConnectionPool(options, size: 4, acquisitionTimeout: .seconds(60), logger: logger)
    }

    /// Opens the log of another fixture in a restored cluster.
    init(_ original: RuntimeFixture, in cluster: PrivateCluster) async throws {
        (self.cluster, database, partitions, logger) =
            (cluster, original.database, original.partitions, original.logger)
        let options = try ConnectionOptions(url: cluster.url(database: database))
        pool = ConnectionPool(options, size: 4, acquisitionTimeout: .seconds(60), logger: logger)
        placement = try await LogPlacement.read(pool)
    }

    /// Returns a replica that does not run, for reads of states.
    func observer() throws -> DurableRuntime<Counter> {
        DurableRuntime<Counter>(
            pool: pool, options: try ConnectionOptions(url: url), partitions: partitions, clock: SharedClock(),
            policy: (), placement: placement, logger: logger)
    }

    /// Runs a counter while `body` runs, then shuts it down gracefully.
    func running(
        url: String? = nil, poolSize: Int = 4, cacheBytes: Int = 1 << 20, clock: SharedClock = SharedClock(),
        limits: StallLimits = StallLimits(),
        _ body: @Sendable @escaping (DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        try await running(
            Counter.self, (), url: url, poolSize: poolSize, cacheBytes: cacheBytes, clock: clock, limits: limits, body)
    }

    /// Runs a replica of a machine while `body` runs, then shuts it down gracefully.
    func running<M: Machine>(
        _: M.Type, _ policy: M.Policy, url: String? = nil, poolSize: Int = 4, cacheBytes: Int = 1 << 20,
        clock: SharedClock = SharedClock(), limits: StallLimits = StallLimits(),
        _ body: @Sendable @escaping (DurableRuntime<M>) async throws -> Void
    ) async throws {
        let options = try ConnectionOptions(url: url ?? self.url)
        let own = ConnectionPool(options, size: poolSize, acquisitionTimeout: .seconds(60), logger: logger)
        let runtime = DurableRuntime<M>(
            pool: own, options: options, partitions: partitions, clock: clock, policy: policy, cacheBytes: cacheBytes,
            limits: limits, placement: placement, logger: logger)
        let group = ServiceGroup(services: [runtime], logger: logger)
        try await group.run { try await body(runtime) }
        await own.close()
    }

    /// Returns all events of the log, partition by partition.
    func log() async throws -> [Event] {
        var events: [Event] = []
        for partition in 0..<partitions {
            let rows = try await pool.execute(
                Query(LogReader.all, [.int4(Int32(partition)), .int(0), .int(1_000_000)]))
            events += try rows.map { try LogReader.event($0) }
        }
        return events
    }

    func waitForLog(_ condition: @Sendable @escaping ([Event]) -> Bool) async throws {
        try await eventuallyTrue { try await condition(log()) }
    }

    /// Appends an event like another service, with its notification.
    ///
    /// - Parameter isWokenUp: false sends no notification, as if it were lost.
    /// - Returns: its id.
    @discardableResult
    func append(
        type: String = "other.thing.pinged", ping data: String = "{}", version: Int = 1, to device: String,
        isWokenUp: Bool = true
    ) async throws -> UUID {
        var event = ForeignEvent(type, to: device, data: data)
        event.version = version
        let position = try await pool.append(event, partitions: partitions, wakesUp: false)
        if isWokenUp { try await wakeUp([position.partition], of: type) }
        return event.id
    }

    /// Sends a wake-up for partitions, like another process.
    ///
    /// - Parameter type: the type of the events; nil for a wake-up without types.
    func wakeUp(_ partitions: [Int], of type: String? = nil) async throws {
        let payload =
            "other:" + partitions.map(String.init).joined(separator: ",") + (type.map { ":" + $0 } ?? "")
        _ = try await pool.execute(Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text(payload)]))
    }

    /// Returns one device for each partition.
    var oneDeviceInEach: [String] {
        (0..<partitions).compactMap { partition in
            (0..<1000).lazy.map { "p\($0)" }.first { AggregateKey.device($0).partition(of: partitions) == partition }
        }
    }

    /// Returns the number of partitions of each living owner, sorted.
    func owners() async throws -> [Int] {
        let statement = Statement(
            """
            SELECT count(*) FROM bus.cursors WHERE owner IS NOT NULL AND lease_expires > clock_timestamp()
            GROUP BY owner ORDER BY 1
            """)
        return try await pool.execute(Query(statement)).map { try $0.decode(Int.self, at: 0) }
    }
}

/// Waits until a condition on the database is true, at most two minutes.
func eventuallyTrue(
    fileID: String = #fileID, line: Int = #line, _ condition: @Sendable @escaping () async throws -> Bool
) async throws {
    try await eventually(within: 120, describe: "the condition at \(fileID):\(line)", condition)
}
