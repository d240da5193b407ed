public import Contracts
public import Postgres
public import Timeline

/// A state as it was kept when a day was over: where the fold of a history begins.
public struct BaseSnapshot: Sendable, Equatable {
    /// The machine's own binary form.
    public var state: [UInt8]
    public var machineVersion: Int
    /// The fold of everything up to here.
    public var offset: Int
    public var eventCount: Int
    public var decidedAt: Instant

    public init(state: [UInt8], machineVersion: Int, offset: Int, eventCount: Int, decidedAt: Instant) {
        self.state = state
        self.machineVersion = machineVersion
        self.offset = offset
        self.eventCount = eventCount
        self.decidedAt = decidedAt
    }
}

/// Where folding one aggregate's history up to some offset begins.
public enum FoldStart: Sendable, Equatable {
    /// All its events are in the log: begin with the machine's base state.
    case beginning
    /// Begin with this, and the events after its offset.
    case snapshot(BaseSnapshot)
    /// What it was then is not known any more: its older events were dropped.
    case beyondRetention
}

extension LogReader {
    // The newest snapshot that is not later than asked, and whether an older history was dropped.
    private static let foldStartStatement = Statement(
        """
        SELECT state, machine_version, log_offset, event_count, decided_at, log_offset <= $4
        FROM bus.snapshots WHERE partition = $1 AND key = $2 AND service = $3 AND (log_offset <= $4 OR is_base)
        ORDER BY log_offset <= $4 DESC, log_offset DESC LIMIT 1
        """)

    /// One aggregate's own events after an offset and up to another, oldest first. Parameters: partition, key, source, after,
    /// up to.
    public static let historyBetween = Statement(
        """
        SELECT \(columns) FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = $3 AND log_offset > $4 AND log_offset <= $5 ORDER BY log_offset
        """)

    /// The same, a page at a time. One more parameter: limit.
    public static let historyPage = Statement(
        """
        SELECT \(columns) FROM bus.events
        WHERE partition = $1 AND key = $2 AND source = $3 AND log_offset > $4 AND log_offset <= $5
        ORDER BY log_offset LIMIT $6
        """)

    /// Where to begin to fold what a service's aggregate was at an offset; the fold check asks for the offset of the stored
    /// state, time travel for any.
    public static func foldStart(
        of key: AggregateKey, service: String, partition: Int, upTo offset: Int, _ pool: ConnectionPool
    ) async throws(PostgresError) -> FoldStart {
        try foldStart(in: try await pool.run(foldStart(of: key, service: service, partition: partition, upTo: offset)))
    }

    /// The same question, for a connection that is at work; ``foldStart(in:)`` has the answer.
    public static func foldStart(of key: AggregateKey, service: String, partition: Int, upTo offset: Int) -> Call {
        Call(
            foldStartStatement, [.int4(Int32(partition)), .text(key.description), .text(service), .int(offset)])
    }

    /// Where to begin, by the answer to ``foldStart(of:service:partition:upTo:)``.
    public static func foldStart(in rows: Rows) throws(PostgresError) -> FoldStart {
        guard let row = rows.first else { return .beginning }
        guard try row.bool(5) else { return .beyondRetention }
        return .snapshot(
            BaseSnapshot(
                state: try row.bytes(0), machineVersion: try row.int(1), offset: try row.int(2),
                eventCount: try row.int(3), decidedAt: Instant(milliseconds: Int64(try row.int(4))).heldToDocuments))
    }
}
