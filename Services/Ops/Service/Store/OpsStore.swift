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

    /// The partitions of the log, each once. The tables of `ops` stay on the coordinator of Citus, and a query of one node
    /// has no table of the shards.
    static let partitions = "(SELECT partition FROM bus.readers WHERE reader = 'ops')"
    /// The maximum number of events that one transaction counts.
    private static let batch: Int32 = 20_000

    /// Connections of the role `dormouse_ops`.
    let pool: ConnectionPool

    private static let digests = Statement(
        """
        SELECT key, digest, machine_version::int8, version, event_count, next_deadline
        FROM ops.state_digests($1, $2, $3)
        """)
    /// The number of events that are not counted.
    static let behind = Statement(
        """
        SELECT coalesce(sum(p.head - r.log_offset), 0)::int8
        FROM bus.readers AS r JOIN bus.partitions AS p USING (partition) WHERE r.reader = 'ops'
        """)
    private static let takeInNext = Statement("SELECT ops.count_events(NULL, $1)")
    private static let forget = Statement("SELECT ops.prune_counts()")

    /// Returns a reader of past states.
    func travel<M: Machine>(_ type: M.Type) -> TimeTravel<M> { TimeTravel { try await pool.execute($0) } }

    /// Returns up to `count` randomly chosen states of a service.
    func digests(of service: String, partition: Int, count: Int) async throws(PostgresError) -> [StateDigest] {
        try await pool.execute(Self.digests, .text(service), .partition(partition), .int4(Int32(count)))
            .decode(StateDigest.self)
    }

    private static let newestVersion = Statement(
        "SELECT coalesce(max(wanted), 0)::int8 FROM bus.state_versions WHERE service = $1")

    /// Returns the newest version of a service's machine that was ever installed.
    func newestVersion(of service: String) async throws(PostgresError) -> Int {
        try await pool.execute(Self.newestVersion, .text(service), rowsExpected: 1)[0].decode(Int.self)
    }

    /// Counts the next events of all partitions in one transaction, except of those that another process counts now.
    ///
    /// - Returns: the number of counted events, and of those that were in the log before and are still uncounted.
    func countEvents() async throws(PostgresError) -> (counted: Int, left: Int) {
        let answers = try await pool.execute([
            Query(Self.behind, rowsExpected: 1), Query(Self.takeInNext, .int4(Self.batch), rowsExpected: 1),
        ])
        let (behind, counted) = (try answers[0][0].decode(Int.self), try answers[1][0].decode(Int.self))
        return (counted, max(behind - counted, 0))
    }

    /// Counts all events that are in the log now, except those that another process counts.
    func countAllEvents() async throws(PostgresError) {
        var rest = try await pool.execute(Self.behind, rowsExpected: 1)[0].decode(Int.self)
        while rest > 0 {
            let (counted, left) = try await countEvents()
            guard counted > 0, left > 0 else { return }
            rest -= counted
        }
    }

    /// Deletes some counts of days that retention has dropped.
    ///
    /// - Returns: the number of deleted counts.
    func pruneCounts() async throws(PostgresError) -> Int {
        try await pool.execute(Self.forget, rowsExpected: 1)[0].decode(Int.self)
    }
}
