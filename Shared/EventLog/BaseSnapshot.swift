public import Contracts
public import Postgres
public import Timeline

/// A stored state from the end of a day, at which the fold of a history can start.
public struct BaseSnapshot: Sendable, Equatable {
    /// The state in the machine's binary form.
    public var state: [UInt8]
    /// The state version.
    public var machineVersion: Int
    /// The offset of the last event in the state.
    public var offset: Int
    /// The number of events in the state.
    public var eventCount: Int
    /// The suite time of the last decision.
    public var decidedAt: Instant
}

/// The start of the fold of an aggregate up to an offset.
public enum FoldStart: Sendable, Equatable {
    /// The log has all events: start with the machine's initial state.
    case beginning
    /// Start with this snapshot and the events after its offset.
    case snapshot(BaseSnapshot)
    /// The state is unknown: retention dropped its older events.
    case beyondRetention
}

extension LogReader {
    // The newest snapshot up to the offset; else the base, which means that older events were dropped.
    private static let foldStartStatement = Statement(
        """
        SELECT state, machine_version, log_offset, event_count, decided_at, log_offset <= $4
        FROM bus.snapshots WHERE partition = $1 AND key = $2 AND service = $3 AND (log_offset <= $4 OR is_base)
        ORDER BY log_offset <= $4 DESC, log_offset DESC LIMIT 1
        """)

    /// Reads a page of an aggregate's own events after an offset and up to another, oldest first. Parameters: partition,
    /// key, source, after, up to, limit.
    public static let historyPage = Statement(
        """
        SELECT \(columns) FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = $3 AND log_offset > $4 AND log_offset <= $5
        ORDER BY log_offset LIMIT $6
        """)

    /// Returns the query for the start of the fold of a service's aggregate at an offset; ``foldStart(in:)`` reads its
    /// result. The fold check uses the offset of the stored state, time travel any offset.
    public static func foldStart(of key: AggregateKey, service: String, partition: Int, upTo offset: Int) -> Query {
        Query(foldStartStatement, [.partition(partition), .key(key), .text(service), .int(offset)])
    }

    /// Reads the result of ``foldStart(of:service:partition:upTo:)``.
    public static func foldStart(in rows: Rows) throws(PostgresError) -> FoldStart {
        guard let row = rows.first else { return .beginning }
        let (state, version, offset, count, time, isKnown) = try row.decode(
            ([UInt8], Int, Int, Int, Instant, Bool).self)
        guard isKnown else { return .beyondRetention }
        return .snapshot(
            BaseSnapshot(
                state: state, machineVersion: version, offset: offset, eventCount: count,
                decidedAt: time.heldToDocuments))
    }
}
