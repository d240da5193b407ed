import EventLog
import Postgres
import Timeline

/// The outline that is kept as events are counted: what each stretch of a partition holds. What is not taken in yet may hold
/// anything.
struct StretchOutline: LogOutline {
    let pool: ConnectionPool

    func stretches(
        of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
    ) async throws(PostgresError) -> [LogSpan] {
        let direction = order == .oldest ? "ASC" : "DESC"
        // One snapshot for the outline and for how far it goes.
        let statement = Statement(
            """
            SELECT s.partition, w.low, w.high FROM unnest($1::int4[], $2::int8[], $3::int8[]) AS s (partition, low, high)
            CROSS JOIN LATERAL (
                SELECT coalesce(max(r.log_offset), 0) AS known FROM bus.readers AS r
                WHERE r.partition = s.partition AND r.reader = 'ops') AS r
            CROSS JOIN LATERAL (
                (SELECT greatest(s.low, r.known) AS low, s.high AS high WHERE s.high > r.known)
                UNION ALL
                (SELECT greatest(s.low, o.stretch * 512), least(s.high, r.known, o.stretch * 512 + 512)
                FROM ops.outline AS o
                WHERE o.partition = s.partition AND o.stretch >= s.low / 512 AND o.stretch * 512 < least(s.high, r.known)
                    AND ($5::text[] = '{}' OR o.types && $5) AND ($6::text[] = '{}' OR o.sources && $6)
                    AND ($7::int8 IS NULL OR o.latest >= $7) AND ($8::int8 IS NULL OR o.earliest < $8)
                ORDER BY o.stretch \(direction) LIMIT $4)
                ORDER BY low \(direction) LIMIT $4) AS w
            WHERE w.low < w.high
            ORDER BY s.partition, w.low \(direction)
            """)
        let rows = try await pool.run(
            Call(
                statement,
                [
                    .int4s(spans.map { Int32($0.partition) }), .ints(spans.map(\.low)), .ints(spans.map(\.high)),
                    .int(atMost), .texts(filter.types), .texts(filter.services),
                    .int(filter.since.map { Int($0.milliseconds) }), .int(filter.until.map { Int($0.milliseconds) }),
                ]))
        return try rows.map { row throws(PostgresError) in
            LogSpan(partition: try row.int(0), low: try row.int(1), high: try row.int(2))
        }
    }
}
