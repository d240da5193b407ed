public import Postgres
import Synchronization

/// The shard of each partition, if Citus distributes the log.
///
/// A transaction of partitions of one shard commits on one node. With partitions of two shards, it would need a two-phase
/// commit. Rows of a partition stay together, so a move of a shard changes nothing here. Only a split does.
public struct LogPlacement: Sendable, Equatable {
    /// The log is in one database: all partitions commit together.
    public static let oneDatabase = LogPlacement(shards: [])

    /// The id of the shard of each partition; empty without Citus.
    public let shards: [Int]

    /// - Parameter shards: the id of the shard of each partition; empty without Citus.
    public init(shards: [Int]) { self.shards = shards }

    /// Whether Citus distributes the log.
    public var isDistributed: Bool { !shards.isEmpty }

    /// The interval between two reads that look for new events of all partitions, in case a wake-up was lost. Citus sends
    /// such a read to each shard, so it is less frequent there.
    public var pollInterval: Duration { isDistributed ? .seconds(1) : .milliseconds(500) }

    /// The settings of PostgreSQL for sessions. By default, Citus opens several connections to a worker for a statement that
    /// reads several shards, and closes all but one after it. That costs more than to read the shards one after another.
    public var sessionSettings: [String: String] {
        isDistributed ? ["citus.max_adaptive_executor_pool_size": "1"] : [:]
    }

    /// Returns the id of the shard of a partition; 0 without Citus.
    public func shard(of partition: Int) -> Int { shards.indices.contains(partition) ? shards[partition] : 0 }

    /// Returns the partitions in order, those that commit together in one list.
    public func groups(of partitions: some Sequence<Int>) -> [[Int]] {
        Dictionary(grouping: partitions.sorted(), by: shard).values.sorted { $0[0] < $1[0] }
    }

    private static let read = Statement(
        """
        SELECT get_shard_id_for_distribution_column('bus.partitions', n)
        FROM bus.settings, generate_series(0, partitions - 1) AS n ORDER BY n
        """)

    /// Reads the placement of a log that Citus may distribute.
    public static func read(_ pool: ConnectionPool) async throws(PostgresError) -> LogPlacement {
        LogPlacement(shards: try await pool.execute(read).decode(Int.self))
    }

    /// Reads the placement. Without Citus it is ``oneDatabase``.
    ///
    /// - Parameter service: a service whose states must be distributed too; nil for none.
    /// - Throws: ``CitusError`` if Citus is there, but can't be used.
    public static func read(_ connection: Connection, service: String? = nil) async throws -> LogPlacement {
        guard try await LogDistribution.isDistributed(connection, service: service) else { return .oneDatabase }
        return LogPlacement(shards: try await connection.execute(read).decode(Int.self))
    }
}

/// The placement of a log, which is read again after Citus has split a shard.
final class CurrentPlacement: Sendable {
    private let known: Mutex<LogPlacement>

    public init(_ placement: LogPlacement) { known = Mutex(placement) }

    /// Runs queries that depend on the placement. If Citus refuses them, it reads the placement again, and repeats them
    /// once with the new one.
    func execute(
        _ pool: ConnectionPool, _ queries: (LogPlacement) -> [Query]
    ) async throws(PostgresError) -> [Rows] {
        let placement = known.withLock(\.self)
        do { return try await pool.execute(queries(placement)) } catch
            where placement.isDistributed && error.sqlState == "0A000"
        {
            let current = try await LogPlacement.read(pool)
            guard current != placement else { throw error }
            known.withLock { $0 = current }
            return try await pool.execute(queries(current))
        }
    }
}
