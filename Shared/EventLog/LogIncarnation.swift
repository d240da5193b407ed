public import Postgres

/// An incarnation of the log. A restore, and a promotion of a standby that lost events, begin another one.
///
/// The log then gives the lost offsets to other events. So a position of one incarnation means nothing in another, and
/// files that belong to one do not belong to another.
public struct LogIncarnation: Sendable, Hashable {
    /// The incarnation of tests without a database.
    public static let first = LogIncarnation(id: "", isFirst: true)

    /// Random hexadecimal digits.
    public let id: String
    /// Whether the log was never restored. Positions do not name the first incarnation.
    public let isFirst: Bool
    /// The incarnations that the log had before, by ``name``: the offsets, by partition, up to which each has the same
    /// events as this one. The log does not know the incarnations that began after the restored moment.
    public let former: [String: [Int]]

    /// The name in tokens and positions: empty for the first incarnation, which they do not name.
    public var name: String { isFirst ? "" : id }

    /// Creates the description of an incarnation.
    public init(id: String, isFirst: Bool, former: [String: [Int]] = [:]) {
        self.id = id
        self.isFirst = isFirst
        self.former = former
    }

    private static let one = Statement("SELECT id, is_first FROM bus.incarnation")
    private static let formerOnes = Statement("SELECT id, heads FROM bus.former_incarnations")
    private static let heads = Statement("SELECT head FROM bus.partitions ORDER BY partition")
    private static let end = Statement(
        """
        INSERT INTO bus.former_incarnations (id, heads)
        SELECT CASE WHEN is_first THEN '' ELSE id END, $1::bigint[] FROM bus.incarnation
        """)
    private static let endOfFleets = Statement(
        """
        INSERT INTO bus.former_fleet_generations (incarnation, fleet, generation)
        SELECT CASE WHEN i.is_first THEN '' ELSE i.id END, r.fleet, r.generation
        FROM bus.incarnation AS i CROSS JOIN bus.fleet_revocations AS r
        """)
    private static let next = Statement(
        """
        UPDATE bus.incarnation SET id = DEFAULT, is_first = false, began_at = clock_timestamp(), reason = $1
        RETURNING id, is_first
        """)

    /// Returns the incarnation of the log.
    public static func read(_ connection: Connection) async throws(PostgresError) -> LogIncarnation {
        let answers = try await connection.execute([Query(one), Query(formerOnes)])
        return try make(answers[0], answers[1])
    }

    /// Begins another incarnation.
    ///
    /// - Parameters:
    ///   - reason: why the log may have lost events, for operators.
    ///   - connection: with the role that owns the log.
    ///   - actor: the one who begins it, for the audit trail.
    ///   - service: the service whose command this is.
    public static func begin(
        _ reason: String, _ connection: Connection, by actor: AuditActor, of service: String
    ) async throws(PostgresError) -> LogIncarnation {
        let entry = AuditEntry(.incarnationBegun, by: actor, of: "log")
        let heads = try await connection.execute(heads).decode(Int.self)
        // A pipeline is one transaction.
        let answers = try await connection.execute([
            Query(end, .ints(heads)), Query(endOfFleets), Query(next, .text(reason)), Query(formerOnes),
            entry.query(of: service),
        ])
        return try make(answers[2], answers[3])
    }

    private static let events = Statement("SELECT coalesce(sum(head), 0)::int8 FROM bus.partitions")

    /// Returns the number of events of the log, including those that retention dropped.
    public static func eventCount(_ connection: Connection) async throws(PostgresError) -> Int {
        try await connection.execute(events, rowsExpected: 1)[0].decode(Int.self)
    }

    private static func make(_ one: Rows, _ former: Rows) throws(PostgresError) -> LogIncarnation {
        let (id, isFirst) = try one[0].decode((String, Bool).self)
        let former = try former.decode((String, [Int]).self)
        return LogIncarnation(
            id: id, isFirst: isFirst, former: Dictionary(uniqueKeysWithValues: former.map { ($0, $1) }))
    }
}
