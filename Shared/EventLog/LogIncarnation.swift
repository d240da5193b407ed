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
    /// The offsets, by partition, up to which all incarnations have the same events; empty in the first one.
    public let commonOffsets: [Int]

    /// Creates the description of an incarnation.
    public init(id: String, isFirst: Bool, commonOffsets: [Int] = []) {
        self.id = id
        self.isFirst = isFirst
        self.commonOffsets = commonOffsets
    }

    private static let one = Statement("SELECT id, is_first, common_offsets FROM bus.incarnation")
    private static let heads = Statement("SELECT head FROM bus.partitions ORDER BY partition")
    // `least` ignores the nulls of the first incarnation.
    private static let next = Statement(
        """
        UPDATE bus.incarnation SET id = DEFAULT, is_first = false, began_at = clock_timestamp(), reason = $1,
            common_offsets = (SELECT array_agg(least(h.head, c.log_offset) ORDER BY h.n)
                FROM unnest($2::bigint[]) WITH ORDINALITY AS h (head, n)
                LEFT JOIN unnest(common_offsets) WITH ORDINALITY AS c (log_offset, n) ON c.n = h.n)
        RETURNING id, is_first, common_offsets
        """)
    private static let nextOfFleets = Statement(
        "UPDATE bus.fleet_revocations SET common_generation = least(common_generation, generation)")

    /// Returns the incarnation of the log.
    public static func read(_ connection: Connection) async throws(PostgresError) -> LogIncarnation {
        try make(try await connection.execute(one, rowsExpected: 1))
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
        return try make(
            try await connection.execute([
                Query(next, .text(reason), .ints(heads)), Query(nextOfFleets), entry.query(of: service),
            ])[0])
    }

    private static let events = Statement("SELECT coalesce(sum(head), 0)::int8 FROM bus.partitions")

    /// Returns the number of events of the log, including those that retention dropped.
    public static func eventCount(_ connection: Connection) async throws(PostgresError) -> Int {
        try await connection.execute(events, rowsExpected: 1)[0].decode(Int.self)
    }

    private static func make(_ rows: Rows) throws(PostgresError) -> LogIncarnation {
        let (id, isFirst, offsets) = try rows[0].decode((String, Bool, [Int]).self)
        return LogIncarnation(id: id, isFirst: isFirst, commonOffsets: offsets)
    }
}
