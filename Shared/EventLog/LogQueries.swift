import Contracts
public import Postgres
import Timeline

/// What operators ask of the log. Reads only, each in short statements: a long snapshot would slow the heads' updates.
public struct LogQueries: Sendable {
    /// A statement that filters without an index looks at most at so many events of each partition.
    static let window = 20_000
    /// A page that found little in this time is answered with what it has.
    static let patience = Duration.milliseconds(1500)

    let pool: ConnectionPool
    /// The log's number of partitions.
    public let partitions: Int
    private let outline: (any LogOutline)?

    /// - Parameter outline: what leads to wanted events that no index leads to; without one they are looked for in all.
    public init(pool: ConnectionPool, partitions: Int, outline: (any LogOutline)? = nil) {
        self.pool = pool
        self.partitions = partitions
        self.outline = outline
    }

    private static let bounds = Statement(
        """
        SELECT p.partition::int8, p.head, coalesce(r.dropped_to, 0)
        FROM bus.partitions AS p LEFT JOIN bus.retention AS r USING (partition) ORDER BY p.partition
        """)

    /// What of each partition is in the log: from after `droppedTo` up to `head`.
    func bounds() async throws(PostgresError) -> [Int: (head: Int, droppedTo: Int)] {
        var bounds: [Int: (head: Int, droppedTo: Int)] = [:]
        for row in try await pool.run(Call(Self.bounds)) {
            bounds[try row.int(0)] = (try row.int(1), try row.int(2))
        }
        return bounds
    }

    /// A page of the feed of all partitions, or of the one that the filter's key is in. Nothing is skipped: going on from
    /// ``EventPage/next`` gives every event once, also those appended meanwhile when the order is oldest first.
    ///
    /// - Parameters:
    ///   - place: the former page's ``EventPage/next``; nil for the first page.
    ///   - limit: of events; there may be fewer, also none, although there is more.
    /// - Throws: ``LogQueryError``, or a `PostgresError`.
    public func page(
        _ filter: EventFilter, _ order: EventOrder, from place: LogVector? = nil, limit: Int
    ) async throws -> EventPage {
        let bounds = try await bounds()
        let isFirst = place == nil
        var place = try self.place(place, in: bounds, filter, order)
        let end = ContinuousClock.now + Self.patience
        var events: [Event] = []
        var width = LogReach.first
        var doubled = 1
        while true {
            let rest = place.sorted { $0.key < $1.key }.compactMap { partition, offset in
                LogSpan(partition, offset, order, bounds[partition] ?? (0, 0))
            }
            guard !rest.isEmpty else { return EventPage(events: events, next: place, isComplete: true) }
            guard events.count < limit, events.isEmpty || ContinuousClock.now < end else {
                return EventPage(events: events, next: place, isComplete: false)
            }
            let reach = try await reach(rest, filter, order, stretches: width)
            let left = limit - events.count
            // Of each partition so many: they rarely are spread more unevenly. One alone has all that is wanted.
            let share = place.count == 1 ? left + 1 : min(left + 1, doubled * (2 * left / place.count + 8))
            let found = try await read(
                reach.spans, until: reach.frontiers(rest, order), filter, order, share: share, limit: left)
            if order == .oldest, try await isOvertaken(place) {
                // What was dropped while it was read is missing in the answer, so there is none. Who named no place begins
                // with what is there now.
                guard isFirst else { throw LogQueryError.beyondRetention }
                return try await page(filter, order, limit: limit)
            }
            for event in found.events { place[event.partition] = order == .oldest ? event.offset : event.offset - 1 }
            switch found.end {
            case .all: place.merge(reach.place) { $1 }
            case .frontier(let partition, nil): place[partition] = reach.place[partition]
            case .frontier(_, let rest?):
                place.merge(reach.place) { $1 }
                for (partition, offset) in rest { place[partition] = order == .oldest ? offset - 1 : offset }
            case .share, .limit: break
            }
            // Where nothing was found, nothing is to be looked for again.
            for (partition, offset) in reach.place where !found.partitions.contains(partition) {
                place[partition] = offset
            }
            if found.end == .share { doubled *= 2 } else { width = min(2 * width, LogReach.most) }
            events += found.events
            if events.isEmpty, ContinuousClock.now >= end {
                return EventPage(events: [], next: place, isComplete: false)
            }
        }
    }

    /// Whether something behind a place has been dropped since.
    private func isOvertaken(_ place: LogVector) async throws(PostgresError) -> Bool {
        let bounds = try await bounds()
        return place.contains { $0.value < bounds[$0.key]?.droppedTo ?? 0 }
    }

    /// What to look at next.
    private func reach(
        _ rest: [LogSpan], _ filter: EventFilter, _ order: EventOrder, stretches: Int
    ) async throws(PostgresError) -> LogReach {
        guard !filter.isIndexed, !filter.isEmpty else { return LogReach(all: rest, order) }
        guard let outline, filter.isOutlined else {
            return LogReach(all: rest.map { $0.first(Self.window, order) }, order)
        }
        let wanted = try await outline.stretches(of: rest, filter, order, atMost: stretches)
        return LogReach(rest, wanted, order, atMost: stretches, window: Self.window)
    }

    /// Where the live feed of a filter begins.
    ///
    /// - Parameter place: the last events that the reader has, of at least the filter's partitions; nil for those alone that
    ///   are still to come.
    /// - Throws: ``LogQueryError``, or a `PostgresError`.
    public func start(of filter: EventFilter, after place: LogVector?) async throws -> LogVector {
        let bounds = try await bounds()
        let wanted = Set(self.wanted(filter))
        return try self.place(
            place?.filter { wanted.contains($0.key) } ?? bounds.filter { wanted.contains($0.key) }.mapValues(\.head),
            in: bounds, filter, .oldest)
    }

    /// The partitions that a filter's events can be in.
    private func wanted(_ filter: EventFilter) -> [Int] {
        filter.key.map { [$0.partition(of: partitions)] } ?? Array(0..<partitions)
    }

    /// A place that is in the log; without one, the end at which the order begins.
    private func place(
        _ place: LogVector?, in bounds: [Int: (head: Int, droppedTo: Int)], _ filter: EventFilter, _ order: EventOrder
    ) throws(LogQueryError) -> LogVector {
        let wanted = wanted(filter)
        guard let place else {
            return LogVector(
                uniqueKeysWithValues: wanted.map { partition in
                    let (head, droppedTo) = bounds[partition] ?? (0, 0)
                    return (partition, order == .oldest ? droppedTo : head)
                })
        }
        guard place.keys.sorted() == wanted, place.values.allSatisfy({ $0 >= 0 }) else { throw .foreignPlace }
        for (partition, offset) in place.sorted(by: { $0.key < $1.key }) {
            let head = bounds[partition]?.head ?? 0
            guard offset <= head else { throw .beyondLog(LogPlace(partition: partition, offset: offset), head: head) }
        }
        if order == .oldest, place.contains(where: { $0.value < bounds[$0.key]?.droppedTo ?? 0 }) {
            throw .beyondRetention
        }
        return place
    }

    /// Why no more events are known to come next.
    private enum ReadEnd: Equatable {
        /// They are all that spans have.
        case all
        /// There are more than the limit.
        case limit
        /// What comes next may be in a span that has had its share.
        case share
        /// What comes next may be behind what was read of this partition, of which all is told. The rest is what was found
        /// besides, and is to come later: the first offset of each partition that has some; nil where that is not known.
        case frontier(Int, rest: LogVector?)
    }

    /// The first wanted events of spans, no further than what comes next is known.
    ///
    /// - Parameters:
    ///   - frontiers: where spans end before their partitions do.
    ///   - share: of each span at most so many.
    ///   - limit: of all at most so many.
    /// - Returns: the events, why there are no more, and the partitions in which something was found, told or not.
    private func read(
        _ spans: [LogSpan], until frontiers: [(partition: Int, offset: Int)], _ filter: EventFilter,
        _ order: EventOrder, share: Int, limit: Int
    ) async throws(PostgresError) -> (events: [Event], end: ReadEnd, partitions: Set<Int>) {
        guard !spans.isEmpty else { return ([], .all, []) }
        var parameters: [Parameter] = [
            .int4s(spans.map { Int32($0.partition) }), .ints(spans.map(\.low)), .ints(spans.map(\.high)), .int(share),
            .int(limit + 1), .int4s(frontiers.map { Int32($0.partition) }), .ints(frontiers.map(\.offset)),
        ]
        let condition = filter.condition(&parameters)
        // A running extreme of the times of appending orders partitions among each other and can't disturb the order in one.
        // So does the time of a frontier, which is no nearer than any event before it.
        let (direction, extreme, beyond, furthest) =
            order == .oldest ? ("ASC", "max", ">", "greatest") : ("DESC", "min", "<", "least")
        let statement = Statement(
            """
            WITH found AS MATERIALIZED (
                SELECT e.*, \(extreme)(e.appended_at) OVER (PARTITION BY e.partition ORDER BY e.log_offset \(direction))
                    AS placed, row_number() OVER (PARTITION BY e.partition, s.low ORDER BY e.log_offset \(direction)) AS number
                FROM unnest($1::int4[], $2::int8[], $3::int8[]) AS s (partition, low, high)
                CROSS JOIN LATERAL (
                    SELECT * FROM bus.events AS e
                    WHERE e.partition = s.partition AND e.log_offset > s.low AND e.log_offset <= s.high\(condition)
                    ORDER BY e.log_offset \(direction) LIMIT $4) AS e),
            frontier AS MATERIALIZED (
                SELECT f.partition, \(furthest)(e.appended_at, r.placed) AS placed
                FROM unnest($6::int4[], $7::int8[]) AS f (partition, log_offset)
                CROSS JOIN LATERAL (
                    SELECT e.appended_at FROM bus.events AS e
                    WHERE e.partition = f.partition AND e.log_offset = f.log_offset LIMIT 1) AS e
                LEFT JOIN (SELECT partition, \(extreme)(placed) AS placed FROM found GROUP BY partition) AS r
                    ON r.partition = f.partition
                ORDER BY 2 \(direction), 1 \(direction) LIMIT 1)
            SELECT \(LogReader.columns), number = $4, placed \(beyond) (SELECT placed FROM frontier),
                (SELECT partition::int8 FROM frontier) AS nearest,
                (SELECT array_agg(DISTINCT f.partition::int8) FROM found AS f) AS partitions
            FROM found
            ORDER BY placed \(direction), partition \(direction), log_offset \(direction) LIMIT $5
            """)
        var events: [Event] = []
        let rows = try await pool.run(Call(statement, parameters))
        let partitions = Set(try rows.first?.ints(16) ?? [])
        for row in rows {
            guard events.count < limit else { return (events, .limit, partitions) }
            if try row.optionalBool(14) == true {
                var rest: LogVector?
                if rows.count <= limit {
                    let places = try rows.dropFirst(events.count).map { row throws(PostgresError) in
                        (try row.int(0), try row.int(1))
                    }
                    rest = LogVector(places) { first, _ in first }
                }
                return (events, .frontier(try row.int(15), rest: rest), partitions)
            }
            events.append(try LogReader.event(row))
            if try row.bool(13) { return (events, .share, partitions) }
        }
        return (events, .all, partitions)
    }
}
