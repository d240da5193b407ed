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

    /// Creates the description of an incarnation.
    public init(id: String, isFirst: Bool) {
        self.id = id
        self.isFirst = isFirst
    }

    private static let one = Statement("SELECT id, is_first FROM bus.incarnation")
    private static let next = Statement(
        """
        UPDATE bus.incarnation SET id = DEFAULT, is_first = false, began_at = clock_timestamp(), reason = $1
        RETURNING id, is_first
        """)

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
        // A pipeline is one transaction.
        return try make(try await connection.execute([Query(next, .text(reason)), entry.query(of: service)])[0])
    }

    private static let events = Statement("SELECT coalesce(sum(head), 0)::int8 FROM bus.partitions")

    /// Returns the number of events of the log, including those that retention dropped.
    public static func eventCount(_ connection: Connection) async throws(PostgresError) -> Int {
        try await connection.execute(events, rowsExpected: 1)[0].decode(Int.self)
    }

    private static func make(_ rows: Rows) throws(PostgresError) -> LogIncarnation {
        let (id, isFirst) = try rows[0].decode((String, Bool).self)
        return LogIncarnation(id: id, isFirst: isFirst)
    }
}
