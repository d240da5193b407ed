/// Everything that can go wrong between a caller and the database.
///
/// `description` is for logs: it may contain hosts, tables and the failed statement, but no values and no password.
/// ``publicDescription`` is for clients. `String(reflecting:)` adds the server's whole message, which may contain
/// values.
public enum PostgresError: Error, Sendable, Equatable {
    /// The options cannot work; `part` names the bad one.
    case invalidOptions(part: String, reason: String)
    /// No connection came about.
    case connectFailed(ConnectFailure)
    /// The connection broke. With `duringFlight` the server may or may not have done the work (so a COMMIT's outcome
    /// is unknown); without, nothing was sent.
    case connectionLost(duringFlight: Bool)
    /// The server did not answer a call in time, and the connection gave the session up. The server may or may not have
    /// done the work, or may still do it.
    case timedOut(after: Duration)
    /// The server refused a statement; whatever had been sent with it in the same flight was rolled back with it,
    /// unless a COMMIT lay between.
    case server(ServerError)
    /// No connection of the pool came free in time.
    case poolTimeout(waited: Duration, size: Int)
    /// The task was cancelled. The server was asked to stop; the work may have been done all the same.
    case cancelled
    /// A call touched another number of rows than its `rowsExpected`.
    case guardFailed(callIndex: Int, expected: Int, got: Int)
    /// A cell does not hold what was asked for.
    case decoding(column: String, reason: String)
    /// A call that cannot be sent, such as one with more than 65,535 parameters.
    case invalidCall(callIndex: Int, reason: String)
    /// The connection or pool was closed by its owner.
    case closed
    /// The schema and the code don't fit together.
    case migration(MigrationProblem)

    /// Running the whole transaction again may succeed: serialization failure (40001) or deadlock (40P01).
    public var isRetryable: Bool {
        sqlState == "40001" || sqlState == "40P01"
    }

    /// The fault is in reaching the server, not in what was asked of it.
    public var isConnectionProblem: Bool {
        switch self {
        case .connectFailed, .connectionLost, .timedOut, .poolTimeout: true
        case .server(let error): error.sqlState.hasPrefix("08") || error.sqlState.hasPrefix("57P")
        case .invalidOptions, .cancelled, .guardFailed, .decoding, .invalidCall, .closed, .migration: false
        }
    }

    /// The five characters by which PostgreSQL names the fault (appendix A of its manual), when it was the server's.
    public var sqlState: String? {
        switch self {
        case .server(let error): error.sqlState
        case .connectFailed(let failure): failure.sqlState
        case .invalidOptions, .connectionLost, .timedOut, .poolTimeout, .cancelled, .guardFailed, .decoding,
            .invalidCall, .closed, .migration:
            nil
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        switch self {
        case .invalidOptions(let part, let reason): "the database connection options are wrong: \(part): \(reason)"
        case .connectFailed(let failure): failure.description
        case .connectionLost(duringFlight: true):
            "the connection to the database was lost while it worked; whether the work was done is unknown"
        case .connectionLost(duringFlight: false): "the connection to the database was lost before anything was sent"
        case .timedOut(let time):
            "the database did not answer within \(time); whether the work was done is unknown"
        case .server(let error): error.description
        case .poolTimeout(let waited, let size):
            "all \(size) database connections were busy for \(waited); raise the pool size or lower the load"
        case .cancelled: "the database work was cancelled"
        case .guardFailed(let index, let expected, let got):
            "call \(index) touched \(got) rows where \(expected) were expected"
        case .decoding(let column, let reason): "column \(column): \(reason)"
        case .invalidCall(let index, let reason): "call \(index) cannot be sent: \(reason)"
        case .closed: "the database connection was closed"
        case .migration(let problem): problem.description
        }
    }

    public var debugDescription: String {
        switch self {
        case .connectFailed(let failure): failure.debugDescription
        case .server(let error): error.debugDescription
        case .migration(let problem): problem.debugDescription
        case .invalidOptions, .connectionLost, .timedOut, .poolTimeout, .cancelled, .guardFailed, .decoding,
            .invalidCall, .closed:
            "PostgresError: \(description)"
        }
    }
}
