public import Contracts
public import Foundation
public import Postgres
public import Timeline

extension LogQueries {
    // Ids hold their time, which grows along with the place in each day's table: the index over block ranges leads there.
    private static let byID = Statement("SELECT \(LogReader.columns) FROM bus.events WHERE id = $1 LIMIT 1")
    private static let byPlace = Statement(
        "SELECT \(LogReader.columns) FROM bus.events WHERE partition = $1 AND log_offset = $2")
    // Partition by partition, since the index begins with it.
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
        SELECT EXISTS (SELECT FROM bus.events WHERE partition = $1 AND key = $2)
            OR EXISTS (SELECT FROM bus.snapshots WHERE partition = $1 AND key = $2)
        """)

    /// Whether the log has, or had, an event of an aggregate.
    public func knows(_ key: AggregateKey) async throws(PostgresError) -> Bool {
        let place = Parameter.int4(Int32(key.partition(of: partitions)))
        return try await pool.run(Call(Self.known, [place, .text(key.description)], rowsExpected: 1))[0].bool(0)
    }

    /// An event by its id; nil where there is none.
    public func event(id: UUID) async throws(PostgresError) -> Event? {
        guard let row = try await pool.run(Call(Self.byID, [.uuid(id)])).first else { return nil }
        return try LogReader.event(row)
    }

    /// An event by its place; nil where there is none.
    public func event(partition: Int, offset: Int) async throws(PostgresError) -> Event? {
        let call = Call(Self.byPlace, [.int4(Int32(clamping: partition)), .int(offset)])
        guard let row = try await pool.run(call).first else { return nil }
        return try LogReader.event(row)
    }

    /// What led to an event and what followed from it.
    ///
    /// - Parameter limit: of the events that are looked at for what followed; causes are found however many there are.
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

    /// All that follows from the same outside input, over all services, by time.
    ///
    /// - Parameter since: nothing before it.
    public func events(
        ofCorrelation correlation: UUID, since: Instant? = nil, limit: Int
    ) async throws(PostgresError) -> [Event] {
        let call = Call(Self.related, [.uuid(correlation), .int(limit), .int(since.map { Int($0.milliseconds) })])
        return try await pool.run(call).map { row throws(PostgresError) in try LogReader.event(row) }
    }
}

/// The chain of causes that an event stands in.
public struct CausalChain: Sendable, Equatable {
    public var event: Event
    /// What led to it: the first cause first, the immediate one last.
    public var causes: [Event]
    /// What followed from it, each after its own cause.
    public var effects: [Event]
    /// Whether all events were looked at that may have followed.
    public var isComplete = true

    /// - Parameter related: all events of its correlation, by time.
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
        // An effect's time may be its cause's, so one pass need not find all.
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
