import Contracts
import EventLog
import Machines
import Postgres
import Runtime
import Timeline

/// All SQL of the service: its own tables, and its searches of the log.
struct OpsStore: Sendable {
    /// A stored state: key, SHA-256 of its binary form, machine version, offset of the last event, number of events,
    /// and next deadline.
    typealias StateDigest = (AggregateKey, [UInt8], Int, Int, Int, Instant?)

    /// The maximum number of events that one transaction counts.
    private static let batch: Int32 = 2000

    /// Connections of the role `dormouse_ops`.
    let pool: ConnectionPool

    private static let digests = Statement(
        """
        SELECT key, digest, machine_version::int8, version, event_count, next_deadline
        FROM ops.state_digests($1, $2, $3)
        """)
    private static let behind = Statement(
        """
        SELECT r.partition::int8, p.head - r.log_offset FROM bus.readers AS r JOIN bus.partitions AS p USING (partition)
        WHERE r.reader = 'ops' AND p.head > r.log_offset ORDER BY r.partition
        """)
    private static let takeInNext = Statement("SELECT ops.count_events($1, $2)")
    private static let forget = Statement("SELECT ops.prune_counts()")

    /// Returns a reader of past states.
    func travel<M: Machine>(_ type: M.Type) -> TimeTravel<M> { TimeTravel { try await pool.execute($0) } }

    /// Returns up to `count` randomly chosen states of a service.
    func digests(of service: String, partition: Int, count: Int) async throws(PostgresError) -> [StateDigest] {
        try await pool.execute(Self.digests, .text(service), .partition(partition), .int4(Int32(count)))
            .decode(StateDigest.self)
    }

    /// Returns the partitions with events that are not counted, and the numbers of these events.
    func uncounted() async throws(PostgresError) -> [(partition: Int, events: Int)] {
        try await pool.execute(Self.behind).decode((Int, Int).self).map { ($0, $1) }
    }

    /// Counts the next events of a partition, unless another process counts them now.
    ///
    /// - Returns: the number of counted events.
    func countEvents(of partition: Int) async throws(PostgresError) -> Int {
        try await pool.execute(Self.takeInNext, .partition(partition), .int4(Self.batch), rowsExpected: 1)[0]
            .decode(Int.self)
    }

    /// Deletes some counts of days that retention has dropped.
    ///
    /// - Returns: the number of deleted counts.
    func pruneCounts() async throws(PostgresError) -> Int {
        try await pool.execute(Self.forget, rowsExpected: 1)[0].decode(Int.self)
    }
}
