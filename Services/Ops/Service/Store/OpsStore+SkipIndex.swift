import EventLog
import Postgres
import Timeline

// The skip index, which counting updates: the types, services and times in each block of 512 offsets. It does not
// cover events that are not counted yet, so every filter reads those.
extension OpsStore: SkipIndex {
    /// The condition that a block may contain events of the services and times.
    private static let holds =
        " AND ($6::text[] = '{}' OR o.sources && $6) AND ($7::int8 IS NULL OR o.latest >= $7)"
        + " AND ($8::int8 IS NULL OR o.earliest < $8)"

    func blocks(
        of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
    ) async throws(PostgresError) -> [LogSpan] {
        let direction = order == .oldest ? "ASC" : "DESC"
        let blocks =
            filter.types.isEmpty
            ? """
            SELECT greatest(k.low, o.block * 512) AS low, least(k.high, o.block * 512 + 512) AS high FROM ops.blocks AS o
            WHERE o.partition = s.partition AND o.block >= k.low / 512 AND o.block * 512 < k.high\(Self.holds)
            ORDER BY o.block \(direction) LIMIT $4
            """
            // The first blocks of each type contain the first blocks of all types.
            : """
            SELECT greatest(k.low, min(t.first) - 1) AS low, least(k.high, max(t.last)) AS high
            FROM unnest($5::text[]) AS n (type) CROSS JOIN LATERAL (
                SELECT * FROM ops.block_types AS t
                WHERE t.partition = s.partition AND t.type = n.type AND t.block >= k.low / 512 AND t.block * 512 < k.high
                    AND t.last > k.low AND t.first <= k.high AND ($9 OR EXISTS (
                        SELECT FROM ops.blocks AS o WHERE o.partition = t.partition AND o.block = t.block\(Self.holds)))
                ORDER BY t.block \(direction) LIMIT $4) AS t
            GROUP BY t.block ORDER BY t.block \(direction) LIMIT $4
            """
        // One statement, so that the skip index and its end come from one database snapshot.
        let statement = Statement(
            """
            SELECT s.partition, w.low, w.high FROM unnest($1::int4[], $2::int8[], $3::int8[]) AS s (partition, low, high)
            CROSS JOIN LATERAL (
                SELECT coalesce(max(r.log_offset), 0) AS known FROM bus.readers AS r
                WHERE r.partition = s.partition AND r.reader = 'ops') AS r
            CROSS JOIN LATERAL (
                SELECT greatest(s.low, CASE WHEN $7::int8 IS NOT NULL THEN coalesce((
                        SELECT min(b.block_group) * 32768 FROM ops.block_groups AS b
                        WHERE b.partition = s.partition AND b.latest >= $7), r.known) END) AS low,
                    least(s.high, r.known, CASE WHEN $8::int8 IS NOT NULL THEN coalesce((
                        SELECT max(b.block_group) * 32768 + 32768 FROM ops.block_groups AS b
                        WHERE b.partition = s.partition AND b.earliest < $8), 0) END) AS high) AS k
            CROSS JOIN LATERAL (
                (SELECT greatest(s.low, r.known) AS low, s.high AS high WHERE s.high > r.known)
                UNION ALL
                (\(blocks))
                ORDER BY low \(direction) LIMIT $4) AS w
            WHERE w.low < w.high
            ORDER BY s.partition, w.low \(direction)
            """)
        return try await pool.execute(
            statement, .int4s(spans.map { Int32($0.partition) }), .ints(spans.map(\.low)), .ints(spans.map(\.high)),
            .int(atMost), .texts(filter.types), .texts(filter.services), .instant(filter.since), .instant(filter.until),
            .bool(filter.services.isEmpty && filter.since == nil && filter.until == nil)
        ).decode((Int, Int, Int).self).map { LogSpan(partition: $0, low: $1, high: $2) }
    }
}
