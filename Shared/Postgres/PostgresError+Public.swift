extension PostgresError {
    /// Whether the server or the network is at fault, not the statement. The same statement succeeds after the repair.
    ///
    /// Examples are a lost connection, a full disk, damaged data, no memory, a server that became read-only, and an
    /// unusable file or library (58P01 after a package upgrade).
    public var isServerFault: Bool {
        if isConnectionProblem { return true }
        guard case .server(let error) = self else { return false }
        return error.sqlState == "25006" || ["53", "58", "XX"].contains(String(error.sqlState.prefix(2)))
    }

    /// Whether no server accepted the connection, but one may do so later.
    public var isAway: Bool {
        guard case .connectFailed(let failure) = self else { return false }
        return [.unreachable, .timedOut, .notReady, .tooManyConnections].contains(failure.reason)
    }

    /// The message for clients, without host, path, statement or data.
    public var publicDescription: String {
        switch self {
        case .connectFailed(let failure) where failure.isUnsuitable: "PostgreSQL has another log than this service"
        case .connectFailed(let failure): "PostgreSQL can't be reached: \(failure.reason.publicDescription)"
        case .connectionLost, .closed: "the connection to PostgreSQL was lost"
        case .server(let error): "PostgreSQL fails statements with SQLSTATE \(error.sqlState)\(error.publicReason)"
        case .poolTimeout: "all connections to PostgreSQL are busy"
        case .cancelled, .timedOut: "PostgreSQL did not answer in time"
        case .migration(let problem): problem.description
        case .invalidOptions, .guardFailed, .decoding, .invalidQuery: "PostgreSQL returned an unexpected result"
        }
    }
}

extension ConnectFailure.Reason {
    fileprivate var publicDescription: String {
        switch self {
        case .refusedCredentials: "it refuses the service's role or password"
        case .unknownDatabase: "it has no such database"
        case .unreachable: "nothing answers at its address"
        case .timedOut: "it does not answer in time"
        case .serverTooOld: "its version is too old"
        case .notWritable: "it accepts no writes"
        case .tooManyConnections: "it has no connection left"
        case .notReady: "it is starting or shutting down"
        case .untrusted: "it has no trusted certificate"
        case .unsuitable, .other: "the connection failed"
        }
    }
}

extension ServerError {
    fileprivate var publicReason: String {
        switch sqlState {
        case "53100": ": its disk is full"
        case "53200": ": it has no memory left"
        case "53300": ": it has no connection left"
        case "25006": ": it accepts no writes"
        case "58P01": ": it misses a file or library, as after an upgrade without a restart"
        case "XX001", "XX002": ": its data are damaged"
        default: ""
        }
    }
}
