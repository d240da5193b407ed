/// The reason why a connection could not be opened, and what to do about it.
public struct ConnectFailure: Error, Sendable, Equatable {
    /// The kind of a failure.
    public enum Reason: Sendable, Equatable {
        /// SQLSTATE class 28: wrong password, unknown role, or `pg_hba.conf` refuses the client.
        case refusedCredentials
        /// SQLSTATE 3D000.
        case unknownDatabase
        /// No server answers at the address, or the name does not resolve.
        case unreachable
        /// The server opened no session within the connect timeout.
        case timedOut
        /// The server's major version, older than the oldest supported one.
        case serverTooOld(Int)
        /// The options require a writable server, but all hosts are standbys.
        case notWritable
        /// SQLSTATE 53300.
        case tooManyConnections
        /// SQLSTATE 57P03: starting up, shutting down or recovering.
        case notReady
        /// `sslmode` asks for TLS or a trusted certificate, and the server has neither.
        case untrusted
        /// The pool refuses the database, for this reason.
        case unsuitable(String)
        /// Any other reason.
        case other
    }

    public let reason: Reason
    /// `host:port/database`, without role and password.
    public let target: String
    public let sqlState: String?
    /// The message of libpq or the server, for operators.
    public let detail: String

    public init(reason: Reason, target: String, sqlState: String? = nil, detail: String = "") {
        self.reason = reason
        self.target = target
        self.sqlState = sqlState
        self.detail = detail
    }

    /// Whether the pool refuses the database.
    var isUnsuitable: Bool {
        if case .unsuitable = reason { true } else { false }
    }

    /// Whether another host may accept the connection. Wrong credentials are wrong on every host, as in libpq.
    var mayTryNextHost: Bool {
        switch reason {
        case .refusedCredentials, .unknownDatabase, .serverTooOld, .unsuitable: false
        case .unreachable, .timedOut, .notWritable, .tooManyConnections, .notReady, .untrusted, .other: true
        }
    }
}

extension ConnectFailure {
    /// Parses the message of a failed connection attempt. libpq reports the SQLSTATE of a refused connection only in
    /// its verbose message: `FATAL:  28P01: password authentication failed …`.
    init(target: String, message: String) {
        let state = Self.sqlState(in: message)
        let reason: Reason =
            switch state {
            case .some(let state) where state.hasPrefix("28"): .refusedCredentials
            case "3D000": .unknownDatabase
            case "53300": .tooManyConnections
            case "57P03": .notReady
            case .some: .other
            case nil where message.contains("session is read-only") || message.contains("in hot standby mode"):
                .notWritable
            case nil where message.contains("no password supplied"): .refusedCredentials
            case nil where Self.isUntrusted(message): .untrusted
            case nil where Self.isUnreachable(message): .unreachable
            case nil: .other
            }
        let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        self.init(reason: reason, target: target, sqlState: state, detail: lines.joined(separator: " "))
    }

    private static func isUntrusted(_ message: String) -> Bool {
        [
            "certificate verify failed", "does not match host name", "root certificate file",
            "server does not support SSL",
        ]
        .contains { message.contains($0) }
    }

    private static func isUnreachable(_ message: String) -> Bool {
        message.contains("could not translate host name")
            || message.contains("connection to server")
                && [
                    "refused", "No such file", "unreachable", "No route", "timed out", "closed the connection", "reset",
                ]
                .contains { message.contains($0) }
    }

    private static func sqlState(in message: String) -> String? {
        var rest = message[...]
        while let colon = rest.firstIndex(of: ":") {
            rest = rest[rest.index(after: colon)...]
            let candidate = rest.drop { $0 == " " }.prefix(6)
            // Every SQLSTATE has a digit; a severity looks the same but has none.
            if candidate.count == 6, candidate.last == ":", candidate.contains(where: \.isNumber),
                candidate.dropLast().allSatisfy({ $0.isASCII && ($0.isNumber || $0.isUppercase) })
            {
                return String(candidate.dropLast())
            }
        }
        return nil
    }
}

extension ConnectFailure: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "no connection to PostgreSQL at \(target): \(advice)" }

    public var debugDescription: String { detail.isEmpty ? description : "\(description) [\(detail)]" }

    private var advice: String {
        switch reason {
        case .refusedCredentials: "the server refuses the role or password; check both, and pg_hba.conf"
        case .unknownDatabase: "the database does not exist; create it or correct its name"
        case .unreachable: "nothing answers there; check host and port, and that the server runs"
        case .timedOut: "no answer within the connect timeout; check the address, firewalls and the server's load"
        case .serverTooOld(let version):
            "the server is version \(version), too old; use \(ServerVersion.minimumMajor) or newer"
        case .notWritable: "the server accepts no writes; name the primary, or list all hosts"
        case .tooManyConnections: "the server has no free connection; raise max_connections or make the pools smaller"
        case .notReady: "the server is starting up or shutting down; wait, then try again"
        case .untrusted:
            "the server has no TLS, or no certificate that sslrootcert trusts for this host; check both, and sslmode"
        case .unsuitable(let reason): reason
        case .other: "the attempt failed; the log at debug level has the server's message"
        }
    }
}

/// Server versions as numbers of `PQserverVersion`: 15.4 is 150004.
enum ServerVersion {
    static let minimumMajor = 15

    static func major(_ number: Int32) -> Int { Int(number) / 10_000 }
}
