public import Postgres
public import Timeline

/// What the suite's clock says and does.
public struct ClockReading: Sendable, Equatable {
    /// The suite's moment by the database.
    public var now: Instant
    public var isVirtual: Bool
    /// Virtual seconds in a real second; while frozen, the rate at which it will go on.
    public var rate: Double
    public var isFrozen: Bool
}

/// Why the clock was not moved as asked.
public enum ClockError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The suite follows real time, which nobody sets.
    case notVirtual
    /// The advance would lead beyond the moment that documents can name.
    case beyondCalendar
    /// Another advance is under way, and was not over within the patience.
    case advanceUnderWay
    /// Somebody did not settle within the patience. The clock stands where the last step took it.
    case notSettled(at: Instant, laggards: [Laggard])

    public var description: String {
        switch self {
        case .notVirtual: "the suite follows real time: migrate with VIRTUAL_TIME=true to make its clock virtual"
        case .beyondCalendar: "the clock goes no further than \(Instant.documented.upperBound)"
        case .advanceUnderWay: "another advance is under way"
        case .notSettled(_, let laggards):
            laggards.isEmpty
                ? "new events kept coming" : laggards.map(\.description).joined(separator: "; ")
        }
    }
}

/// A consumer that has work left that it should have done.
public struct Laggard: Sendable, Equatable, CustomStringConvertible {
    public var consumer: String
    /// How many events of the log it has not taken in.
    public var events: Int
    /// Its earliest deadline, where that has come.
    public var deadline: Instant?

    public init(consumer: String, events: Int, deadline: Instant? = nil) {
        self.consumer = consumer
        self.events = events
        self.deadline = deadline
    }

    public var description: String {
        var parts: [String] = []
        if events > 0 { parts.append("is \(events) events behind") }
        if let deadline { parts.append("has not fired its deadline of \(deadline)") }
        return "\(consumer) \(parts.joined(separator: " and "))"
    }
}

/// Reads and moves the suite's clock. Every change is announced; whoever missed that reads the row in its next batch.
///
/// The clock's row never goes back. A process may have run ahead of a slower rate by what the news of it took to arrive; the
/// moments of each aggregate stay in order all the same, since no decision is earlier than the one before it.
public struct ClockControl: Sendable {
    /// What the database accepts as a rate.
    public static let rates: ClosedRange<Double> = 0.001...100_000

    let pool: ConnectionPool

    /// - Parameter pool: of a role that may execute the clock's functions.
    public init(pool: ConnectionPool) { self.pool = pool }

    static let reading = Statement(
        "SELECT bus.suite_time(bus.real_now()), is_virtual, resumes_at, rate = 0 FROM bus.clock")
    private static let set = Statement("SELECT bus.set_clock($1, $2)")

    public func read() async throws(PostgresError) -> ClockReading {
        try Self.reading(try await pool.run(Call(Self.reading, rowsExpected: 1))[0])
    }

    static func reading(_ row: Row) throws(PostgresError) -> ClockReading {
        ClockReading(
            now: Instant(milliseconds: Int64(try row.int(0))), isVirtual: try row.bool(1), rate: try row.double(2),
            isFrozen: try row.bool(3))
    }

    /// Lets time run, at another rate where one is given, or stand still.
    ///
    /// - Parameters:
    ///   - rate: one of ``rates``; nil keeps the one that the clock has.
    ///   - frozen: whether time stands still; it goes on at the rate later.
    /// - Throws: ``ClockError/notVirtual``, or a `PostgresError`.
    @discardableResult
    public func set(rate: Double? = nil, frozen: Bool) async throws -> ClockReading {
        let rows = try await pool.run([
            Call(Self.set, [.double(rate), .bool(frozen)], rowsExpected: 1), Call(Self.reading, rowsExpected: 1),
        ])
        guard try rows[0][0].bool(0) else { throw ClockError.notVirtual }
        return try Self.reading(rows[1][0])
    }

    @discardableResult
    public func freeze() async throws -> ClockReading { try await set(frozen: true) }
    @discardableResult
    public func unfreeze() async throws -> ClockReading { try await set(frozen: false) }
}

extension LogSchema {
    /// Makes the log's clock virtual, from the present moment on, at the rate of real time. A clock that is virtual already
    /// stays as it is: going back to real time could go back in time.
    ///
    /// - Parameter connection: as the schema's owner.
    public static func makeClockVirtual(_ connection: Connection) async throws(PostgresError) {
        _ = try await connection.run(
            Call(
                Statement(
                    """
                    UPDATE bus.clock SET is_virtual = true, real_epoch = moment, virtual_epoch = moment, rate = 1
                    FROM bus.real_now() AS moment WHERE NOT is_virtual
                    """)))
    }
}
