import Contracts
public import Postgres
import Timeline

/// The read-only queries of operators. Their statements are short: a long snapshot would slow the updates of the heads.
public struct LogQueries: Sendable {
    /// The most events of each partition that a statement scans without an index.
    static let window = 20_000
    /// The time after which a page returns the events that it has.
    static let patience = Duration.milliseconds(1500)

    let pool: ConnectionPool
    /// The number of partitions of the log.
    public let partitions: Int
    private let skipIndex: (any SkipIndex)?

    /// - Parameter skipIndex: a skip index for filters without a database index; without it they scan all events.
    public init(pool: ConnectionPool, partitions: Int, skipIndex: (any SkipIndex)? = nil) {
        self.pool = pool
        self.partitions = partitions
        self.skipIndex = skipIndex
    }

    private static let bounds = Statement(
        """
        SELECT p.partition::int8, p.head, coalesce(r.dropped_to, 0)
        FROM bus.partitions AS p LEFT JOIN bus.retention AS r USING (partition) ORDER BY p.partition
        """)

    /// Returns the retained range of each partition: after `droppedTo`, up to `head`.
    func bounds() async throws(PostgresError) -> [Int: (head: Int, droppedTo: Int)] {
        var bounds: [Int: (head: Int, droppedTo: Int)] = [:]
        for (partition, head, droppedTo) in try await pool.execute(Self.bounds).decode((Int, Int, Int).self) {
            bounds[partition] = (head, droppedTo)
        }
        return bounds
    }

    /// Returns a page of the feed of all partitions, or of the partition of the filter's key.
    ///
    /// The pages from ``EventPage/next`` on have every event once. Oldest first, they include events that are appended
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - place: the previous page's ``EventPage/next``; nil for the first page.
    ///   - limit: the most events. A page may have fewer or none although more exist.
    /// - Throws: ``LogQueryError``, or a `PostgresError`.
    public func page(
        _ filter: EventFilter, _ order: EventOrder, from position: PositionVector? = nil, limit: Int
    ) async throws -> EventPage {
        let bounds = try await bounds()
        let isFirst = position == nil
        var position = try self.position(position, in: bounds, filter, order)
        let end = ContinuousClock.now + Self.patience
        var events: [Event] = []
        var width = ScanPlan.first
        var doubled = 1
        while true {
            let rest = position.sorted { $0.key < $1.key }.compactMap { partition, offset in
                LogSpan(partition, offset, order, bounds[partition] ?? (0, 0))
            }
            guard !rest.isEmpty else { return EventPage(events: events, next: position, isComplete: true) }
            guard events.count < limit, events.isEmpty || ContinuousClock.now < end else {
                return EventPage(events: events, next: position, isComplete: false)
            }
            let plan = try await plan(rest, filter, order, blocks: width)
            let left = limit - events.count
            // Events are rarely spread more unevenly over partitions. A single partition gets the whole limit.
            let share = position.count == 1 ? left + 1 : min(left + 1, doubled * (2 * left / position.count + 8))
            let found = try await read(
                plan.spans, until: plan.watermarks(rest, order), filter, order, share: share, limit: left)
            if order == .oldest, try await isOvertaken(position) {
                // Retention dropped events during the read: fail a resumed page, restart a fresh one.
                guard isFirst else { throw LogQueryError.beyondRetention }
                return try await page(filter, order, limit: limit)
            }
            for event in found.events { position[event.partition] = order == .oldest ? event.offset : event.offset - 1 }
            switch found.end {
            case .all: position.merge(plan.position) { $1 }
            case .watermark(let partition, nil): position[partition] = plan.position[partition]
            case .watermark(_, let rest?):
                position.merge(plan.position) { $1 }
                for (partition, offset) in rest { position[partition] = order == .oldest ? offset - 1 : offset }
            case .share, .limit: break
            }
            // Skip the scanned offsets of partitions without a match.
            for (partition, offset) in plan.position where !found.partitions.contains(partition) {
                position[partition] = offset
            }
            if found.end == .share { doubled *= 2 } else { width = min(2 * width, ScanPlan.most) }
            events += found.events
            if events.isEmpty, ContinuousClock.now >= end {
                return EventPage(events: [], next: position, isComplete: false)
            }
        }
    }

    /// Returns whether retention has dropped events after a position.
    private func isOvertaken(_ position: PositionVector) async throws(PostgresError) -> Bool {
        let bounds = try await bounds()
        return position.contains { $0.value < bounds[$0.key]?.droppedTo ?? 0 }
    }

    /// Returns the next scan.
    private func plan(
        _ rest: [LogSpan], _ filter: EventFilter, _ order: EventOrder, blocks: Int
    ) async throws(PostgresError) -> ScanPlan {
        guard !filter.isIndexed, !filter.isEmpty else { return ScanPlan(all: rest, order) }
        guard let skipIndex, filter.isOutlined else {
            return ScanPlan(all: rest.map { $0.first(Self.window, order) }, order)
        }
        let wanted = try await skipIndex.blocks(of: rest, filter, order, atMost: blocks)
        return ScanPlan(rest, wanted, order, atMost: blocks, window: Self.window)
    }

    /// Returns the start position of a filter's live feed.
    ///
    /// - Parameter place: the last offsets that the reader has, for at least the filter's partitions; nil for new
    ///   events only.
    /// - Throws: ``LogQueryError``, or a `PostgresError`.
    public func start(of filter: EventFilter, after position: PositionVector?) async throws -> PositionVector {
        let bounds = try await bounds()
        let wanted = Set(self.wanted(filter))
        return try self.position(
            position?.filter { wanted.contains($0.key) } ?? bounds.filter { wanted.contains($0.key) }.mapValues(\.head),
            in: bounds, filter, .oldest)
    }

    /// Returns the partitions that may contain a filter's events.
    private func wanted(_ filter: EventFilter) -> [Int] {
        filter.key.map { [$0.partition(of: partitions)] } ?? Array(0..<partitions)
    }

    /// Returns a validated position; without one, the start of the order.
    private func position(
        _ position: PositionVector?, in bounds: [Int: (head: Int, droppedTo: Int)], _ filter: EventFilter,
        _ order: EventOrder
    ) throws(LogQueryError) -> PositionVector {
        let wanted = wanted(filter)
        guard let position else {
            return PositionVector(
                uniqueKeysWithValues: wanted.map { partition in
                    let (head, droppedTo) = bounds[partition] ?? (0, 0)
                    return (partition, order == .oldest ? droppedTo : head)
                })
        }
        guard position.keys.sorted() == wanted, position.values.allSatisfy({ $0 >= 0 }) else { throw .foreignPosition }
        for (partition, offset) in position.sorted(by: { $0.key < $1.key }) {
            let head = bounds[partition]?.head ?? 0
            guard offset <= head else {
                throw .beyondLog(LogPosition(partition: partition, offset: offset), head: head)
            }
        }
        if order == .oldest, position.contains(where: { $0.value < bounds[$0.key]?.droppedTo ?? 0 }) {
            throw .beyondRetention
        }
        return position
    }

    /// The reason why a read ended.
    private enum ReadEnd: Equatable {
        /// The spans have no more matching events.
        case all
        /// The spans have more events than the limit.
        case limit
        /// The next event may be in a span that has reached its share.
        case share
        /// The next event may be after the watermark of this partition, whose found events are all returned. The rest
        /// is the first found offset of each other partition that is not returned yet; nil if that is not known.
        case watermark(Int, rest: PositionVector?)
    }

    /// Reads the first matching events of spans, as far as their order is known.
    ///
    /// - Parameters:
    ///   - watermarks: the watermarks of partitions that the spans do not read to their ends.
    ///   - share: the most events of each span.
    ///   - limit: the most events of all spans.
    /// - Returns: the events, the reason for the end, and the partitions with a match, returned or not.
    private func read(
        _ spans: [LogSpan], until watermarks: [(partition: Int, offset: Int)], _ filter: EventFilter,
        _ order: EventOrder, share: Int, limit: Int
    ) async throws(PostgresError) -> (events: [Event], end: ReadEnd, partitions: Set<Int>) {
        guard !spans.isEmpty else { return ([], .all, []) }
        var parameters: [Parameter] = [
            .int4s(spans.map { Int32($0.partition) }), .ints(spans.map(\.low)), .ints(spans.map(\.high)), .int(share),
            .int(limit + 1), .int4s(watermarks.map { Int32($0.partition) }), .ints(watermarks.map(\.offset)),
        ]
        let condition = filter.condition(&parameters)
        // Sort by the running max of `appended_at` (min for newest first), so clock skew cannot reorder a partition.
        // The time of a watermark is at least that of every event before it.
        let (direction, extreme, beyond, furthest) =
            order == .oldest ? ("ASC", "max", ">", "greatest") : ("DESC", "min", "<", "least")
        let statement = Statement(
            """
            WITH found AS MATERIALIZED (
                SELECT e.*, \(extreme)(e.appended_at) OVER (PARTITION BY e.partition ORDER BY e.log_offset \(direction))
                    AS sort_time,
                    row_number() OVER (PARTITION BY e.partition, s.low ORDER BY e.log_offset \(direction)) AS number
                FROM unnest($1::int4[], $2::int8[], $3::int8[]) AS s (partition, low, high)
                CROSS JOIN LATERAL (
                    SELECT * FROM bus.events AS e
                    WHERE e.partition = s.partition AND e.log_offset > s.low AND e.log_offset <= s.high\(condition)
                    ORDER BY e.log_offset \(direction) LIMIT $4) AS e),
            watermark AS MATERIALIZED (
                SELECT f.partition, \(furthest)(e.appended_at, r.sort_time) AS sort_time
                FROM unnest($6::int4[], $7::int8[]) AS f (partition, log_offset)
                CROSS JOIN LATERAL (
                    SELECT e.appended_at FROM bus.events AS e
                    WHERE e.partition = f.partition AND e.log_offset = f.log_offset LIMIT 1) AS e
                LEFT JOIN (SELECT partition, \(extreme)(sort_time) AS sort_time FROM found GROUP BY partition) AS r
                    ON r.partition = f.partition
                ORDER BY 2 \(direction), 1 \(direction) LIMIT 1)
            SELECT \(LogReader.columns), number = $4, sort_time \(beyond) (SELECT sort_time FROM watermark),
                (SELECT partition::int8 FROM watermark) AS nearest,
                (SELECT array_agg(DISTINCT f.partition::int8) FROM found AS f) AS partitions
            FROM found
            ORDER BY sort_time \(direction), partition \(direction), log_offset \(direction) LIMIT $5
            """)
        var events: [Event] = []
        let rows = try await pool.execute(Query(statement, parameters))
        let partitions = Set(try rows.first?.decode([Int].self, at: 16) ?? [])
        for row in rows {
            guard events.count < limit else { return (events, .limit, partitions) }
            let (isShare, isBeyond, nearest) = try row.decode((Bool, Bool?, Int?).self, at: 13)
            if let nearest, isBeyond == true {
                var rest: PositionVector?
                if rows.count <= limit {
                    let places = try rows.dropFirst(events.count).map { row throws(PostgresError) in
                        try row.decode((Int, Int).self, at: 0)
                    }
                    rest = PositionVector(places) { first, _ in first }
                }
                return (events, .watermark(nearest, rest: rest), partitions)
            }
            events.append(try LogReader.event(row))
            if isShare { return (events, .share, partitions) }
        }
        return (events, .all, partitions)
    }
}
