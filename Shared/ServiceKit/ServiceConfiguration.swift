public import EventLog
import Foundation
public import HTTPKit
public import Identity
public import Logging
import Telemetry

/// The settings that every service has. The help text of each is beside its name in the initialiser.
public struct ServiceConfiguration: Sendable {
    public let databaseURL: String
    let databasePassword: SecretFile
    let databasePoolSize: Int
    public let host: String
    public let port: Int
    public let certificate: CertificateFiles
    /// In seconds.
    public let requestTimeout: Int
    public let bodyRate: Int
    /// In seconds.
    public let idleTimeout: Int
    public let connectionsPerAddress: Int
    public let trustedProxies: TrustedProxies
    public let requestRates: RequestRates.Limits
    public let failedCredentials: Int
    public let partitions: Int
    /// The number of shards of a new log on Citus; nil for two on each worker.
    public let shards: Int?
    /// The names of the database roles that `migrate` creates.
    public let roles: LogRoles
    let stateCacheBytes: Int
    let hasAccessLog: Bool
    public let logLevel: Logger.Level
    /// The log level of the process, at first ``logLevel``.
    let logThreshold: LogThreshold
    let logFormat: LogFormat
    let traces: TraceSettings
    let operatorKeyFile: SecretFile
    public let migrationDatabaseURL: String?
    public let rolePassword: SecretFile
    public let isVirtualTime: Bool
    let drainTime: Duration
    public let shutdownTimeout: Duration
    public let isInsecure: Bool

    /// Reads the settings.
    ///
    /// - Parameter standardPort: the default port of the service.
    public init(_ reader: SettingsReader, port standardPort: Int) {
        databaseURL = reader.text(
            "DATABASE_URL", "postgresql://localhost/dormouse", "URL of PostgreSQL; commas separate hosts")
        databasePassword = reader.secret("DATABASE_PASSWORD_FILE", "file with the password for DATABASE_URL")
        databasePoolSize = reader.number("DATABASE_POOL_SIZE", 4, 1...256, "size of the connection pool to PostgreSQL")
        host = reader.text("HOST", "127.0.0.1", "address to listen on")
        port = reader.number("PORT", standardPort, 0...65535, "port to listen on; 0 chooses a free one")
        certificate = CertificateFiles(
            reader, chain: "TLS_CERTIFICATE",
            "PEM file with the certificate chain; enables HTTPS; reloaded on change",
            key: "TLS_KEY", "PEM file with the private key of TLS_CERTIFICATE")
        requestTimeout = reader.number(
            "REQUEST_TIMEOUT", 10, 1...3600,
            "seconds in which the head of the first request on a connection, and each JSON body, must arrive")
        bodyRate = reader.number(
            "BODY_BYTES_PER_SECOND", 500, 0...1_000_000_000,
            "minimum rate of bodies that are not JSON or exceed 64 KiB, in bytes a second; slower ones get 408; 0 is"
                + " no limit")
        idleTimeout = reader.number(
            "IDLE_TIMEOUT", 60, 1...3600, "seconds after which a connection without requests is closed")
        connectionsPerAddress = reader.number(
            "CONNECTIONS_PER_ADDRESS", 10_000, 0...1_000_000,
            "maximum open connections of each client address; 0 is no limit")
        trustedProxies = reader.value(
            "PROXY_PROTOCOL_FROM", TrustedProxies(), shown: nil,
            "addresses and networks of proxies, separated by commas, such as 10.0.0.0/8,fd00::1; a connection of theirs may"
                + " begin with a header of the PROXY protocol, which names the client",
            mustBe: "addresses and networks, separated by commas, such as 10.0.0.0/8,fd00::1"
        ) { TrustedProxies($0) }
        requestRates = RequestRates.Limits(
            device: reader.number(
                "DEVICE_REQUESTS_PER_SECOND", 50, 0...1_000_000,
                "requests a second of each device, in bursts of up to 4 s; 0 is no limit"),
            fleet: reader.number(
                "FLEET_REQUESTS_PER_SECOND", 0, 0...1_000_000,
                "requests a second with tokens of each fleet, in bursts of up to 4 s; 0 is no limit"),
            operator: reader.number(
                "OPERATOR_REQUESTS_PER_SECOND", 0, 0...1_000_000,
                "requests a second with each operator's key, in bursts of up to 4 s; 0 is no limit"))
        failedCredentials = reader.number(
            "FAILED_CREDENTIALS_PER_SECOND", 20, 0...1_000_000,
            "invalid credentials a second from each client address, in bursts of up to 4 s; 0 is no limit")
        partitions = reader.number(
            "PARTITIONS", 16, 1...1024,
            "partitions of the log, the same for all services; fixed when migrate creates the log")
        shards = reader.number(
            "CITUS_SHARDS", 1...1024,
            "migrate only: shards of a new log in a database with the extension citus; by default two on each worker")
        stateCacheBytes =
            reader.number("STATE_CACHE_MIB", 256, 1...1_048_576, "memory for cached states, in MiB") << 20
        hasAccessLog = reader.flag(
            "ACCESS_LOG",
            "log each request at level info instead of debug: method, route, path, status, time, caller"
                + " and address")
        logLevel = reader.choice("LOG_LEVEL", .info, "least severe level that is logged")
        logThreshold = LogThreshold(logLevel)
        logFormat = reader.choice("LOG_FORMAT", .auto, "auto is pretty on a terminal, else json")
        traces = TraceSettings(reader)
        operatorKeyFile = reader.secret(
            "OPERATOR_KEY_FILE",
            "file with one operator key on each line: a name, its scopes (read, operate, or read,operate), the "
                + "SHA-256 of the key in hexadecimal, and an optional expiry; it is read again every 5 s")
        migrationDatabaseURL = reader.text(
            "MIGRATION_DATABASE_URL",
            "URL of PostgreSQL for the role that owns the tables; migrate and maintain need it")
        rolePassword = reader.secret(
            "ROLE_PASSWORD_FILE", "migrate only: file with the password to set for the service's database role")
        let rolePrefix = reader.text(
            "ROLE_PREFIX", LogRoles.standard.prefix,
            "migrate only: beginning of the names of the database roles, the same for all services; two installations in"
                + " one PostgreSQL cluster need two")
        let isPrefix = LogRoles.isPrefix(rolePrefix)
        reader.require(
            isPrefix,
            "\(Setting.label("ROLE_PREFIX")) must have 1 to 32 of a-z 0-9 _, and begin with a letter, not with pg_")
        roles = isPrefix ? LogRoles(prefix: rolePrefix) : .standard
        isVirtualTime = reader.flag(
            "VIRTUAL_TIME",
            "migrate only: make the suite's clock virtual, so that it can be frozen and advanced; this can't be undone")
        drainTime = .seconds(
            reader.number(
                "DRAIN_SECONDS", 0, 0...300,
                "seconds at shutdown in which /readyz answers 503 and other requests are still served"))
        shutdownTimeout = .seconds(
            reader.number(
                "SHUTDOWN_TIMEOUT", 10, 1...300, "seconds at shutdown to finish requests in progress"))
        isInsecure = reader.flag(
            "INSECURE_DEV", "treat requests without a credential as an operator's; needs a loopback HOST")
        reader.require(
            !isInsecure || ["127.0.0.1", "::1", "localhost"].contains(host),
            "\(Setting.label("INSECURE_DEV")) is for loopback only: HOST must be 127.0.0.1, ::1 or localhost")
    }

    /// Reads the operators' keys of `OPERATOR_KEY_FILE`. Without it there are none.
    public func operatorKeys() throws(ConfigurationError) -> OperatorKeys {
        guard let text = try operatorKeyFile.read() else { return OperatorKeys() }
        do { return try OperatorKeys(file: text) } catch { throw ConfigurationError("OPERATOR_KEY_FILE, \(error)") }
    }
}
