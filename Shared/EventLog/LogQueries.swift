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
    /// The partitions that one query can read.
    private let placement: CurrentPlacement
    private let skipIndex: (any SkipIndex)?
    private let search: SearchLimits

    /// - Parameters:
    ///   - placement: the partitions that one query of several can read. Citus needs one for each shard.
    ///   - skipIndex: a skip index for filters without a database index; without it they scan all events.
    ///   - search: the limits of a page with a filter by text.
    public init(
        pool: ConnectionPool, partitions: Int, placement: LogPlacement = .oneDatabase,
        skipIndex: (any SkipIndex)? = nil, search: SearchLimits = SearchLimits()
    ) {
        self.pool = pool
        self.partitions = partitions
        self.placement = CurrentPlacement(placement)
        self.skipIndex = skipIndex
        self.search = search
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
    ///   - position: the previous page's ``EventPage/next``; nil for the first page.
    ///   - limit: the most events. A page may have fewer or none although more exist.
    /// - Throws: ``LogQueryError``, or a `PostgresError`.
    public func page(
        _ filter: EventFilter, _ order: EventOrder, from position: PositionVector? = nil, limit: Int
    ) async throws -> EventPage {
        let bounds = try await bounds()
        let start = try self.position(position, in: bounds, filter, order)
        let spans = start.map { partition, offset in
            LogSpan(partition, from: offset, order, bounds[partition] ?? (0, 0))
        }
        var pager = FeedPager(order, limit: limit, spans)
        let end = ContinuousClock.now + (filter.text == nil ? Self.patience : search.patience)
        var blocks = ScanPlan.first
        repeat {
            let unread = pager.unread
            guard !unread.isEmpty else { break }
            let plan = try await plan(unread, filter, order, blocks: blocks)
            let (events, matched) = try await read(plan.spans, filter, order, limit: pager.left + 1)
            if order == .oldest, try await isOvertaken(pager.position) {
                // Retention dropped events during the read: fail a resumed page, restart a fresh one.
                guard position == nil else { throw LogQueryError.beyondRetention }
                return try await page(filter, order, limit: limit)
            }
            pager.receive(events, matched: matched, plan)
            blocks = min(2 * blocks, ScanPlan.most)
        } while ContinuousClock.now < end
        return pager.page
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
        let window = window(of: filter, partitions: rest.count)
        guard !filter.isIndexed, let skipIndex, filter.hasSkipIndex else {
            return ScanPlan(rest, rest, order, atMost: 1, window: window)
        }
        let wanted = try await skipIndex.blocks(of: rest, filter, order, atMost: blocks)
        return ScanPlan(rest, wanted, order, atMost: blocks, window: window)
    }

    /// Returns the most offsets of each partition that a statement may read.
    ///
    /// A text has no index. Reading an event costs microseconds, so the partitions share the events of a statement. With
    /// an index, a statement reads few of the offsets.
    private func window(of filter: EventFilter, partitions: Int) -> Int {
        guard filter.text != nil else { return filter.isIndexed || filter.isEmpty ? .max : Self.window }
        return filter.isIndexed ? Self.window : max(search.events / max(partitions, 1), 1)
    }

    /// Returns the start position of a filter's live feed.
    ///
    /// - Parameter position: the last offsets that the reader has, for at least the filter's partitions; nil for new
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

    /// Reads the first matching events of spans by append time.
    ///
    /// - Returns: the events with their sort times, and the partitions with a match.
    private func read(
        _ spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, limit: Int
    ) async throws(PostgresError) -> (events: [(time: Int, event: Event)], matched: Set<Int>) {
        guard !spans.isEmpty else { return ([], []) }
        let results = try await placement.execute(pool) { placement in
            placement.groups(of: Set(spans.map(\.partition))).map { group in
                Self.query(spans.filter { group.contains($0.partition) }, filter, order, limit: limit)
            }
        }
        var events: [(time: Int, event: Event)] = []
        var matched: Set<Int> = []
        for rows in results {
            events += try rows.map { row throws(PostgresError) in
                (try row.decode(Int.self, at: LogReader.columnCount), try LogReader.event(row))
            }
            matched.formUnion(try rows.first?.decode([Int].self, at: LogReader.columnCount + 1) ?? [])
        }
        guard results.count > 1 else { return (events, matched) }
        func place(_ found: (time: Int, event: Event)) -> (Int, Int, Int) {
            (found.time, found.event.partition, found.event.offset)
        }
        events.sort { order == .oldest ? place($0) < place($1) : place($1) < place($0) }
        return (Array(events.prefix(limit)), matched)
    }

    private static func query(_ spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, limit: Int) -> Query {
        var parameters: [Parameter] = [
            .int4s(spans.map { Int32($0.partition) }), .ints(spans.map(\.low)), .ints(spans.map(\.high)), .int(limit),
        ]
        let condition = filter.condition(&parameters)
        let (direction, extreme) = order == .oldest ? ("ASC", "max") : ("DESC", "min")
        // Sort by the running max of `appended_at` (min for newest first), so clock skew cannot reorder a partition.
        let statement = Statement(
            """
            WITH found AS MATERIALIZED (
                SELECT e.*, \(extreme)(e.appended_at) OVER (PARTITION BY e.partition ORDER BY e.log_offset \(direction))
                    AS sort_time
                FROM unnest($1::int4[], $2::int8[], $3::int8[]) AS s (partition, low, high)
                CROSS JOIN LATERAL (
                    SELECT * FROM bus.events AS e
                    WHERE e.partition = s.partition AND e.partition = ANY($1) AND e.log_offset > s.low
                        AND e.log_offset <= s.high\(condition)
                    ORDER BY e.log_offset \(direction) LIMIT $4) AS e)
            SELECT \(LogReader.columns), (extract(epoch FROM sort_time) * 1000000)::int8,
                (SELECT array_agg(DISTINCT f.partition::int8) FROM found AS f)
            FROM found
            ORDER BY sort_time \(direction), partition \(direction), log_offset \(direction) LIMIT $4
            """)
        return Query(statement, parameters)
    }
}
