/// Why no connection came about, and what to do about it.
public struct ConnectFailure: Error, Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        /// SQLSTATE class 28: wrong password, unknown role, or `pg_hba.conf` refuses the client.
        case refusedCredentials
        /// 3D000
        case unknownDatabase
        /// Nothing answers at the address, or the name does not resolve.
        case unreachable
        /// No session within the connect timeout.
        case timedOut
        /// The server's major version.
        case serverTooOld(Int)
        /// Only standbys were found, while a writable server is asked for.
        case notWritable
        /// 53300
        case tooManyConnections
        /// 57P03: starting up, shutting down or recovering.
        case notReady
        /// Anything else, such as a TLS fault.
        case other
    }

    public let reason: Reason
    /// `host:port/database`, without role and password.
    public let target: String
    public let sqlState: String?
    /// What libpq or the server said: for operators.
    public let detail: String

    public init(reason: Reason, target: String, sqlState: String? = nil, detail: String = "") {
        self.reason = reason
        self.target = target
        self.sqlState = sqlState
        self.detail = detail
    }

    /// Another server of the list may do what this one didn't; wrong credentials are wrong everywhere (as libpq has it).
    var mayTryNextHost: Bool {
        switch reason {
        case .refusedCredentials, .unknownDatabase, .serverTooOld: false
        case .unreachable, .timedOut, .notWritable, .tooManyConnections, .notReady, .other: true
        }
    }
}

extension ConnectFailure {
    /// Reads the text of a failed connection attempt. libpq tells the SQLSTATE of a refusal at connect time only in its
    /// verbose text: `FATAL:  28P01: password authentication failed …`.
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
            case nil where Self.isUnreachable(message): .unreachable
            case nil: .other
            }
        let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        self.init(reason: reason, target: target, sqlState: state, detail: lines.joined(separator: " "))
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
            if candidate.count == 6, candidate.last == ":",
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
        case .refusedCredentials: "it refuses the role or password; check both, and pg_hba.conf"
        case .unknownDatabase: "the database does not exist; create it or correct its name"
        case .unreachable: "nothing answers there; check host and port, and that the server runs"
        case .timedOut: "no answer within the connect timeout; check the address, firewalls and the server's load"
        case .serverTooOld(let version):
            "the server is version \(version), too old; use \(ServerVersion.minimumMajor) or newer"
        case .notWritable: "it accepts no writes; name the primary, or list all hosts"
        case .tooManyConnections: "it has no connection left; raise max_connections or make the pools smaller"
        case .notReady: "it is starting up or shutting down; wait, then try again"
        case .other: "the attempt failed; the log at debug level has the server's words"
        }
    }
}

/// Versions as `PQserverVersion` counts them: 15.4 is 150004.
enum ServerVersion {
    static let minimumMajor = 15

    static func major(_ number: Int32) -> Int { Int(number) / 10_000 }
}
