public import Postgres
public import Timeline

/// The state of the suite's clock.
public struct ClockReading: Sendable, Equatable {
    /// The suite time by the database's clock.
    public var now: Instant
    /// Whether the suite has virtual time.
    public var isVirtual: Bool
    /// Virtual seconds in a real second; for a frozen clock, the rate after it resumes.
    public var rate: Double
    /// Whether the clock is frozen.
    public var isFrozen: Bool
}

/// The reason why the clock was not moved.
public enum ClockError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The suite follows real time, which can't be set.
    case notVirtual
    /// The target is after the last instant that documents can contain.
    case beyondCalendar
    /// Another advance did not end within the patience.
    case advanceUnderWay
    /// Consumers did not settle within the patience. The clock stays at the last step.
    case notSettled(at: Instant, laggards: [Laggard])

    public var description: String {
        switch self {
        case .notVirtual: "the suite follows real time: migrate with VIRTUAL_TIME=true to make its clock virtual"
        case .beyondCalendar: "the clock can't go beyond \(Instant.documented.upperBound)"
        case .advanceUnderWay: "another advance is under way"
        case .notSettled(_, let laggards):
            laggards.isEmpty
                ? "services kept appending events" : laggards.map(\.description).joined(separator: "; ")
        }
    }
}

/// A consumer that is behind: it has unread events or a deadline that is due.
public struct Laggard: Sendable, Equatable, CustomStringConvertible {
    public var consumer: String
    /// The number of unread events.
    public var events: Int
    /// The earliest deadline, if it is due.
    public var deadline: Instant?

    public var description: String {
        var parts: [String] = []
        if events > 0 { parts.append("is \(events) events behind") }
        if let deadline { parts.append("has not fired its deadline of \(deadline)") }
        return "\(consumer) \(parts.joined(separator: " and "))"
    }
}

/// Reads and moves the suite's clock. It notifies all processes of a change; each also reads the clock in its batches.
///
/// The clock never goes back. A process may run ahead until the notification of a slower rate arrives. Events of an
/// aggregate still stay in order, because no decision is earlier than the one before it.
public struct ClockControl: Sendable {
    /// The rates that the database accepts.
    public static let rates: ClosedRange<Double> = 0.001...100_000

    let pool: ConnectionPool

    /// - Parameter pool: with a role that may execute the clock's functions.
    public init(pool: ConnectionPool) { self.pool = pool }

    static let reading = Statement(
        "SELECT bus.suite_time(bus.real_now()), is_virtual, resumes_at, rate = 0 FROM bus.clock")
    private static let set = Statement("SELECT bus.set_clock($1, $2)")

    /// Reads the clock.
    public func read() async throws(PostgresError) -> ClockReading {
        try Self.reading(try await pool.execute(Self.reading, rowsExpected: 1)[0])
    }

    static func reading(_ row: Row) throws(PostgresError) -> ClockReading {
        let (now, isVirtual, rate, isFrozen) = try row.decode((Instant, Bool, Double, Bool).self)
        return ClockReading(now: now, isVirtual: isVirtual, rate: rate, isFrozen: isFrozen)
    }

    /// Freezes or runs the clock, and sets its rate.
    ///
    /// - Parameters:
    ///   - rate: one of ``rates``; nil keeps the current rate.
    ///   - frozen: whether time stops; it resumes at the rate later.
    ///   - audit: the entry of the audit trail for the change.
    /// - Throws: ``ClockError/notVirtual``, or a `PostgresError`.
    @discardableResult
    public func set(rate: Double? = nil, frozen: Bool, audit: AuditEntry? = nil) async throws -> ClockReading {
        try await pool.transaction { connection in
            let set = Query(Self.set, [.double(rate), .bool(frozen)], rowsExpected: 1)
            let rows = try await connection.execute([set, Query(Self.reading, rowsExpected: 1)])
            guard try rows[0][0].decode(Bool.self) else { throw ClockError.notVirtual }
            if let audit { _ = try await connection.execute(audit.query) }
            return try Self.reading(rows[1][0])
        }
    }
}

extension LogSchema {
    /// Makes the clock virtual, from now on, at the rate of real time. A virtual clock does not change, so that time
    /// can't go back.
    ///
    /// - Parameter connection: with the role of the schema's owner.
    public static func makeClockVirtual(_ connection: Connection) async throws(PostgresError) {
        try await connection.execute(
            Statement(
                """
                UPDATE bus.clock SET is_virtual = true, real_epoch = instant, virtual_epoch = instant, rate = 1
                FROM bus.real_now() AS instant WHERE NOT is_virtual
                """))
    }
}
