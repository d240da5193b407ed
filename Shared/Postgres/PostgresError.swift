/// An error between a caller and the database.
///
/// `description` is for logs: it may contain hosts, tables and the failed statement, but no values and no password.
/// ``publicDescription`` is for clients. `String(reflecting:)` adds the whole message of the server, which may contain
/// values.
public enum PostgresError: Error, Sendable, Equatable {
    /// The options are invalid; `part` names the bad one.
    case invalidOptions(part: String, reason: String)
    /// No connection could be opened.
    case connectFailed(ConnectFailure)
    /// The connection was lost. With `duringPipeline` the outcome is unknown, also that of a COMMIT; without it, nothing
    /// was sent.
    case connectionLost(duringPipeline: Bool)
    /// The server did not answer in time, and the connection closed the session. The server may have done the work, or
    /// may still do it.
    case timedOut(after: Duration)
    /// The server rejected a statement and rolled back its whole pipeline, except for queries before a COMMIT.
    case server(ServerError)
    /// No connection of the pool became free in time.
    case poolTimeout(waited: Duration, size: Int)
    /// The task was cancelled. The connection asked the server to stop, but the work may be done.
    case cancelled
    /// A query returned or affected another number of rows than its `rowsExpected`.
    case guardFailed(queryIndex: Int, expected: Int, got: Int)
    /// A column value does not have the requested type.
    case decoding(column: String, reason: String)
    /// A query can't be sent, for example because it has more than 65,535 parameters.
    case invalidQuery(queryIndex: Int, reason: String)
    /// The owner closed the connection or the pool.
    case closed
    /// The schema does not match the program.
    case migration(MigrationProblem)

    /// Whether a retry of the whole transaction may succeed: serialization failure (40001) or deadlock (40P01).
    public var isRetryable: Bool {
        sqlState == "40001" || sqlState == "40P01"
    }

    /// Whether the connection failed or none was free, so that the statement is not at fault.
    public var isConnectionProblem: Bool {
        switch self {
        case .connectFailed, .connectionLost, .timedOut, .poolTimeout: true
        case .server(let error): error.sqlState.hasPrefix("08") || error.sqlState.hasPrefix("57P")
        case .invalidOptions, .cancelled, .guardFailed, .decoding, .invalidQuery, .closed, .migration: false
        }
    }

    /// The SQLSTATE of a server error: five characters, see appendix A of PostgreSQL's manual.
    public var sqlState: String? {
        switch self {
        case .server(let error): error.sqlState
        case .connectFailed(let failure): failure.sqlState
        case .invalidOptions, .connectionLost, .timedOut, .poolTimeout, .cancelled, .guardFailed, .decoding,
            .invalidQuery, .closed, .migration:
            nil
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        switch self {
        case .invalidOptions(let part, let reason): "invalid database connection options: \(part): \(reason)"
        case .connectFailed(let failure): failure.description
        case .connectionLost(duringPipeline: true):
            "the connection to the database was lost while it worked; whether the work was done is unknown"
        case .connectionLost(duringPipeline: false): "the connection to the database was lost before anything was sent"
        case .timedOut(let time):
            "the database did not answer within \(time); whether the work was done is unknown"
        case .server(let error): error.description
        case .poolTimeout(let waited, let size):
            "all \(size) database connections were busy for \(waited); raise the pool size or lower the load"
        case .cancelled: "the database work was cancelled"
        case .guardFailed(let index, let expected, let got):
            "query \(index) returned or affected \(got) rows, expected \(expected)"
        case .decoding(let column, let reason): "column \(column): \(reason)"
        case .invalidQuery(let index, let reason): "query \(index) can't be sent: \(reason)"
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
            .invalidQuery, .closed:
            "PostgresError: \(description)"
        }
    }
}
