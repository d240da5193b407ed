public import Contracts
import Foundation
public import Postgres
import Timeline

/// The statements that read events of one partition.
public enum LogReader {
    /// The columns of ``event(_:)``.
    public static let columns = """
        partition::int8, log_offset, id, source, type, version::int8, key, app, time, correlationid, causationid,
        traceparent, actor, data::text
        """

    /// The number of ``columns``.
    static let columnCount = 14

    /// The most offsets that ``following`` scans, so that a consumer of rare types does not hold its lock for long.
    public static let scanLimit = 20_000

    /// Reads events of some types after an offset, oldest first, within ``scanLimit``. Parameters: partition, offset,
    /// types, limit.
    public static let following = Statement(
        """
        SELECT \(columns) FROM bus.events
        WHERE partition = $1 AND log_offset > $2 AND log_offset <= $2 + \(scanLimit) AND type = ANY($3)
        ORDER BY log_offset LIMIT $4
        """)

    /// Reads events of some types behind a consumer's cursor in each of some partitions, oldest first, within
    /// ``scanLimit``. One round trip reads the cursors and their events. Parameters: partitions, consumer, the most
    /// events of each partition, types, the first and the last day to read. The days are ``anyDays`` or those of
    /// partitions, in days since 2000-01-01. They keep the executor from opening the tables of other days.
    public static let behindCursors = behindCursors(of: "")
    /// The same for the partitions of one shard of Citus.
    public static let behindCursorsOfShard = behindCursors(of: "AND partition = ANY($1)")

    private static func behindCursors(of list: String) -> Statement {
        Statement(
            """
            SELECT e.* FROM unnest($1::int4[], $3::int8[]) AS a (asked, most)
            CROSS JOIN LATERAL (
                SELECT log_offset FROM bus.cursors WHERE partition = a.asked \(list) AND consumer = $2) AS c (position)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM bus.events
                WHERE partition = a.asked \(list) AND type = ANY($4)
                    AND log_offset > c.position AND log_offset <= c.position + \(scanLimit)
                    AND day BETWEEN date '2000-01-01' + $5::int4 AND date '2000-01-01' + $6::int4
                ORDER BY log_offset LIMIT a.most) AS e
            ORDER BY e.partition, e.log_offset
            """)
    }

    /// The bounds of days that exclude no table.
    public static let anyDays = -1_000_000...2_000_000

    /// Reads all events after an offset, oldest first. Parameters: partition, offset, limit.
    public static let all = Statement(
        "SELECT \(columns) FROM bus.events WHERE partition = $1 AND log_offset > $2 ORDER BY log_offset LIMIT $3")

    /// Reads the event of a dead letter whose day was dropped. Parameters: partition, offset.
    public static let kept = Statement(
        "SELECT \(columns) FROM bus.kept_events WHERE partition = $1 AND log_offset = $2")

    /// Reads events of one key after an offset, oldest first. Parameters: partition, key, offset, limit.
    public static let ofKey = Statement(
        """
        SELECT \(columns) FROM bus.events
        WHERE partition = $1 AND key = $2 AND log_offset > $3 ORDER BY log_offset LIMIT $4
        """)

    /// Reads the head of each partition: the offset of its last event.
    public static let heads = Statement("SELECT partition::int8, head FROM bus.partitions ORDER BY partition")

    /// Reads the heads of some partitions, which are the parameter.
    static let headsOf = Statement(
        "SELECT partition::int8, head FROM bus.partitions WHERE partition = ANY($1) ORDER BY partition")

    /// Decodes the rows of ``heads``: an offset by partition.
    public static func heads(_ rows: Rows) throws(PostgresError) -> [Int: Int] {
        Dictionary(uniqueKeysWithValues: try rows.decode((Int, Int).self))
    }

    /// Decodes the event in a row of one of the other statements above. More columns may follow.
    public static func event(_ row: Row) throws(PostgresError) -> Event {
        let (partition, offset, id, source, type, version, key) = try row.decode(
            (Int, Int, UUID, String, String, Int, AggregateKey).self, at: 0)
        let (app, time, correlation, causation, traceparent, actor, data) = try row.decode(
            (String?, Instant, UUID, UUID?, String?, String?, [UInt8]).self, at: 7)
        var event = Event(
            id: id, source: source, type: type, version: version, key: key, app: app, time: time.heldToDocuments,
            correlation: correlation, causation: causation, traceparent: traceparent, actor: actor, data: data)
        event.partition = partition
        event.offset = offset
        return event
    }
}
