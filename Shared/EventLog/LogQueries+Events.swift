public import Contracts
public import Foundation
public import Postgres
public import Timeline

extension LogQueries {
    // An id begins with its time, which grows along a day's table, so the BRIN index finds it.
    private static let byID = Statement("SELECT \(LogReader.columns) FROM bus.events WHERE id = $1 LIMIT 1")
    private static let byPosition = Statement(
        "SELECT \(LogReader.columns) FROM bus.events WHERE partition = $1 AND log_offset = $2")
    // One lookup for each partition: the index begins with the partition.
    private static let related = Statement(
        """
        SELECT \(LogReader.columns.replacing("partition::int8", with: "e.partition::int8")) FROM bus.partitions AS p
        CROSS JOIN LATERAL (
            SELECT * FROM bus.events AS e WHERE e.partition = p.partition AND e.correlationid = $1
                AND ($3::int8 IS NULL OR e.time >= $3)
            ORDER BY e.log_offset LIMIT $2) AS e
        ORDER BY e.time, e.appended_at, e.partition, e.log_offset LIMIT $2
        """)

    // Retention leaves a base snapshot when it drops events.
    private static let known = Statement(
        """
        SELECT EXISTS (SELECT 1 FROM bus.events WHERE partition = $1 AND key = $2)
            OR EXISTS (SELECT 1 FROM bus.snapshots WHERE partition = $1 AND key = $2)
        """)

    /// Returns whether the log has, or had, an event of an aggregate.
    public func knows(_ key: AggregateKey) async throws(PostgresError) -> Bool {
        try await pool.execute(Self.known, .partition(key.partition(of: partitions)), .key(key), rowsExpected: 1)[0]
            .decode(Bool.self)
    }

    /// Returns the event with an id.
    public func event(id: UUID) async throws(PostgresError) -> Event? {
        try await pool.execute(Self.byID, .uuid(id)).first.map(LogReader.event)
    }

    /// Returns the event at a position.
    public func event(partition: Int, offset: Int) async throws(PostgresError) -> Event? {
        try await pool.execute(Self.byPosition, .int4(Int32(clamping: partition)), .int(offset)).first
            .map(LogReader.event)
    }

    // One lookup for each partition: a join could scan the log.
    private static func next(_ order: EventOrder) -> Statement {
        let (extreme, offset) = order == .oldest ? ("min", "s.log_offset + 1") : ("max", "s.log_offset")
        return Statement(
            """
            SELECT \(extreme)(n.time) FROM (
                SELECT (
                    SELECT e.time FROM bus.events AS e
                    WHERE e.partition = p.partition AND e.log_offset = \(offset) LIMIT 1) AS time
                FROM unnest($1::int4[], $2::int8[]) AS s (partition, log_offset)
                JOIN bus.partitions AS p ON p.partition = s.partition) AS n
            """)
    }

    /// Returns the suite time up to which the pages before a position have searched the log; nil if nothing is left.
    public func searched(to position: PositionVector, _ order: EventOrder) async throws(PostgresError) -> Instant? {
        let places = position.sorted { $0.key < $1.key }
        return try await pool.execute(
            Self.next(order), .int4s(places.map { Int32($0.key) }), .ints(places.map(\.value)), rowsExpected: 1
        )[0].decode(Int?.self).map { Instant(milliseconds: Int64($0)) }
    }

    /// Returns the causes and the effects of an event.
    ///
    /// - Parameter limit: the most events to search for effects. Causes are always complete.
    public func chain(of event: Event, limit: Int) async throws(PostgresError) -> CausalChain {
        var related = try await events(ofCorrelation: event.correlation, limit: limit + 1)
        let isWhole = related.count <= limit
        if !isWhole {
            related = try await events(ofCorrelation: event.correlation, since: event.time, limit: limit + 1)
        }
        var chain = CausalChain(of: event, among: Array(related.prefix(limit)))
        chain.isComplete = related.count <= limit
        guard !isWhole else { return chain }
        var seen = Set(chain.causes.map(\.id) + [event.id])
        while let id = (chain.causes.first ?? event).causation, seen.insert(id).inserted,
            let cause = try await self.event(id: id)
        {
            chain.causes.insert(cause, at: 0)
        }
        return chain
    }

    /// Returns the events of all services with a correlation id, by time.
    ///
    /// - Parameter since: the earliest time.
    public func events(
        ofCorrelation correlation: UUID, since: Instant? = nil, limit: Int
    ) async throws(PostgresError) -> [Event] {
        try await pool.execute(Self.related, .uuid(correlation), .int(limit), .instant(since)).map(LogReader.event)
    }
}

/// An event with its causes and effects.
public struct CausalChain: Sendable, Equatable {
    public var event: Event
    /// The causes: the first cause first, the immediate one last.
    public var causes: [Event]
    /// The effects, each after its own cause.
    public var effects: [Event]
    /// Whether all possible effects were searched.
    public var isComplete = true

    /// - Parameter related: the events with the same correlation id, by time.
    public init(of event: Event, among related: [Event]) {
        self.event = event
        let known = Dictionary(related.map { ($0.id, $0) }) { first, _ in first }
        var causes: [Event] = []
        var seen: Set<UUID> = [event.id]
        var next = event.causation
        while let id = next, let cause = known[id], seen.insert(id).inserted {
            causes.append(cause)
            next = cause.causation
        }
        self.causes = causes.reversed()
        var reached: Set<UUID> = [event.id]
        var effects: [Event] = []
        var rest = related.filter { !seen.contains($0.id) }
        // An effect may have the time of its cause, so one pass may miss some.
        while true {
            let found = rest.filter { $0.causation.map(reached.contains) ?? false }
            guard !found.isEmpty else { break }
            effects += found
            reached.formUnion(found.map(\.id))
            rest.removeAll { reached.contains($0.id) }
        }
        self.effects = effects
    }
}
