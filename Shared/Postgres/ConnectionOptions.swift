/// The address of the database and the settings of its sessions. `init` validates them. Descriptions never contain the
/// password.
public struct ConnectionOptions: Sendable {
    /// The kind of server that a client accepts (libpq's `target_session_attrs`).
    public enum TargetSession: String, Sendable, CaseIterable {
        case any
        case readWrite = "read-write"
        case readOnly = "read-only"
        case primary
        case standby
        case preferStandby = "prefer-standby"
    }

    /// The default session settings.
    ///
    /// A stopped process must not hold the lock of its partition, so the server ends its session after 5 s. The
    /// server's timeouts do not run while it waits for the rest of a pipeline. So it also detects dead clients: it
    /// probes after 5 s of silence, for 6 s, and gives up after 15 s of unacknowledged data. `jit` is off because
    /// compilation takes longer than our short statements.
    public static let defaultSettings = [
        "idle_in_transaction_session_timeout": "5s", "jit": "off", "tcp_keepalives_idle": "5",
        "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3", "tcp_user_timeout": "15s",
    ]

    /// The connect timeout for each host. All addresses of a name share it.
    public let connectTimeoutSeconds: Int
    /// The longest time for the answer to a pipeline; then the connection closes the session. Nil means no limit.
    public let pipelineTimeout: Duration?
    /// The parameters for libpq, sorted by keyword, without host, port and `target_session_attrs`.
    let parameters: [(keyword: String, value: String)]
    let hosts: [HostAddress]
    let target: TargetSession
    let database: String
    /// The session settings, sorted by name, each with the first major version of the server that knows it. The client
    /// sets them after it has connected: in the startup packet, an unknown setting would end the connection, and PgBouncer
    /// accepts none.
    let settings: [(name: String, value: String, major: Int)]

    /// - Parameters:
    ///   - url: `postgres://user@host:port,host2:port2/database?option=value`, or `host=… dbname=…`. Missing parts come
    ///     from libpq's environment variables and defaults.
    ///   - password: replaces the password of the URL.
    ///   - applicationName: the name in `pg_stat_activity`, unless the URL has one.
    ///   - connectTimeoutSeconds: for each host, unless the URL has `connect_timeout`.
    ///   - pipelineTimeout: the longest time for the answer to a pipeline; nil means no limit, for migrations. A server of
    ///     version 17 or newer also ends a transaction that stays open this long.
    ///   - settings: session settings, for example `statement_timeout`. They override ``defaultSettings``; `options` of the
    ///     URL override both.
    /// - Throws: ``PostgresError/invalidOptions(part:reason:)``
    public init(
        url: String, password: String? = nil, applicationName: String = "dormouse", connectTimeoutSeconds: Int = 10,
        pipelineTimeout: Duration? = .seconds(30), settings: [String: String] = [:], target: TargetSession = .readWrite
    ) throws(PostgresError) {
        self.pipelineTimeout = pipelineTimeout
        var given = try Conninfo.parse(url)
        func take(_ keyword: String) -> String? { given.removeValue(forKey: keyword) }

        hosts = try HostAddress.list(host: take("host"), hostaddr: take("hostaddr"), port: take("port"))
        if let name = take("target_session_attrs") {
            guard let named = TargetSession(rawValue: name) else {
                throw .invalidOptions(part: "target_session_attrs", reason: "must be one of libpq's six values")
            }
            self.target = named
        } else {
            self.target = target
        }
        let timeout = take("connect_timeout")
        guard let seconds = timeout.map({ Int($0) }) ?? connectTimeoutSeconds, (1...3600).contains(seconds) else {
            throw .invalidOptions(part: "connect_timeout", reason: "must be 1 to 3600 seconds")
        }
        self.connectTimeoutSeconds = seconds
        database = given["dbname"] ?? ""

        var all = Self.defaultSettings.merging(settings) { $1 }.map { (name: $0.key, value: $0.value, major: 0) }
        if let pipelineTimeout { all.append(("transaction_timeout", pipelineTimeout.milliseconds, 17)) }
        let options = given["options"] ?? ""
        self.settings = all.filter { !options.contains("\($0.name)=") }.sorted { $0.name < $1.name }
        if let password { given["password"] = password }
        // Keepalive detects a dead peer after about 25 s of silence, or after 15 s of unacknowledged data.
        let defaults = [
            "client_encoding": "UTF8", "application_name": applicationName, "keepalives": "1", "keepalives_idle": "10",
            "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "15000",
        ]
        let parameters = given.merging(defaults) { first, _ in first }
        if let bad = parameters.first(where: { $0.value.utf8.contains(0) }) {
            throw .invalidOptions(part: bad.key, reason: "contains a zero byte")
        }
        self.parameters = parameters.sorted { $0.key < $1.key }.map { (keyword: $0.key, value: $0.value) }
    }

    /// Returns `host:port/database` of a host, for messages.
    func name(of host: HostAddress) -> String { "\(host)/\(database)" }

    /// The name of all hosts and the database in error messages.
    var names: String { "\(hosts.map(\.description).joined(separator: ","))/\(database)" }
}

extension ConnectionOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The hosts and the database; no role, no password.
    public var description: String { "\(hosts.map(\.description).joined(separator: ","))/\(database)" }

    public var debugDescription: String { description }

    /// Keeps the password out of `dump` and of reflection in logs.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Duration {
    /// The duration for PostgreSQL, at least 1 ms: 0 would be no limit.
    fileprivate var milliseconds: String {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? "0" : "\(max(1, whole + attoseconds / 1_000_000_000_000_000))ms"
    }
}
