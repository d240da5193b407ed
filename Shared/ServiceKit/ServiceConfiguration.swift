import Foundation
public import HTTPKit
public import Identity
public import Logging
public import Telemetry

/// The settings of a service process. Flags override the environment, then `.env`, then the defaults.
public struct ServiceConfiguration: Sendable {
    private let values: [String: String]

    /// Returns the settings that every service has, in the order of `--help`.
    ///
    /// - Parameter port: the default port of the service.
    public static func settings(port: Int) -> [Setting] {
        [
            Setting("DATABASE_URL", "postgresql://localhost/dormouse", "URL of PostgreSQL; commas separate hosts"),
            Setting("DATABASE_PASSWORD_FILE", nil, "file with the password for DATABASE_URL"),
            .number("DATABASE_POOL_SIZE", 4, 1...256, "size of the connection pool to PostgreSQL"),
            Setting("HOST", "127.0.0.1", "address to listen on"),
            .number("PORT", port, 0...65535, "port to listen on; 0 chooses a free one"),
            Setting("TLS_CERTIFICATE", nil, "PEM file with the certificate chain; enables HTTPS; reloaded on change"),
            Setting("TLS_KEY", nil, "PEM file with the private key of TLS_CERTIFICATE"),
            .number(
                "REQUEST_TIMEOUT", 10, 1...3600,
                "seconds to receive the first request head of a connection, and each JSON body"),
            .number(
                "BODY_BYTES_PER_SECOND", 500, 0...1_000_000_000,
                "lowest rate of large and non-JSON bodies, in bytes a second; slower ones get 408; 0 is no limit"),
            .number("IDLE_TIMEOUT", 60, 1...3600, "seconds after which a connection without requests is closed"),
            .number(
                "CONNECTIONS_PER_ADDRESS", 10_000, 0...1_000_000, "connections of each client address; 0 is no limit"),
            .number(
                "DEVICE_REQUESTS_PER_SECOND", 50, 0...1_000_000,
                "requests a second of each device, in bursts of up to 4 s; 0 is no limit"),
            .number(
                "FLEET_REQUESTS_PER_SECOND", 0, 0...1_000_000,
                "requests a second with tokens of each fleet, in bursts of up to 4 s; 0 is no limit"),
            .number(
                "OPERATOR_REQUESTS_PER_SECOND", 0, 0...1_000_000,
                "requests a second with each operator's key, in bursts of up to 4 s; 0 is no limit"),
            .number(
                "FAILED_CREDENTIALS_PER_SECOND", 20, 0...1_000_000,
                "invalid credentials a second from each client address, in bursts of up to 4 s; 0 is no limit"),
            .number("PARTITIONS", 16, 1...1024, "partitions of the log; fixed when the log is created"),
            .number("STATE_CACHE_MIB", 256, 1...1_048_576, "memory for cached states, in MiB"),
            .choice("LOG_LEVEL", "info", Logger.Level.allCases.map(\.rawValue), "least severe level that is logged"),
            .choice(
                "LOG_FORMAT", "auto", LogFormat.allCases.map(\.rawValue), "auto is pretty on a terminal, else json"),
            Setting("OPERATOR_KEY_FILE", nil, "file with one operator's key a line: \"name scopes sha256\""),
            Setting("MIGRATION_DATABASE_URL", nil, "like DATABASE_URL, for the role that owns the tables"),
            Setting("ROLE_PASSWORD_FILE", nil, "file with the password that migrate sets for the service's role"),
            .flag("VIRTUAL_TIME", "follow the suite's virtual clock"),
            .number(
                "DRAIN_SECONDS", 0, 0...300,
                "seconds at shutdown in which /readyz answers 503 and other requests are still served"),
            .number("SHUTDOWN_TIMEOUT", 10, 1...300, "seconds at shutdown to finish requests in progress"),
            .flag("INSECURE_DEV", "accept requests without a credential; only on loopback"),
        ]
    }

    /// The request of a command line.
    public enum Request: Sendable {
        /// Run with these settings.
        case run(ServiceConfiguration)
        /// Print this text of `--help`.
        case help(String)
    }

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - more: the service's own settings.
    ///   - arguments: the command line without the program's name.
    ///   - dotEnv: the text of the `.env` file; empty if there is none.
    /// - Throws: the first fault.
    public static func read(
        service: String, port: Int, more: [Setting] = [], arguments: [String], environment: [String: String],
        dotEnv: String = ""
    ) throws(ConfigurationError) -> Request {
        let settings = settings(port: port) + more
        let flags = try flags(arguments, settings)
        guard flags["HELP"] == nil else { return .help(help(service: service, settings)) }
        let file = try parse(dotEnv: dotEnv)
        var values: [String: String] = [:]
        for setting in settings {
            let given = flags[setting.name] ?? environment[setting.name] ?? file[setting.name]
            // Compose files set an empty variable to leave it unset.
            guard let value = given.flatMap({ $0.isEmpty && flags[setting.name] == nil ? nil : $0 }) ?? setting.standard
            else { continue }
            guard setting.accepts(value) else {
                throw ConfigurationError("\(setting.name) (\(setting.flag)) must be \(setting.words)")
            }
            values[setting.name] = value
        }
        let configuration = ServiceConfiguration(values: values)
        if configuration.isInsecure, !["127.0.0.1", "::1", "localhost"].contains(configuration.host) {
            throw ConfigurationError(
                "INSECURE_DEV (--insecure-dev) is for loopback only: HOST must be 127.0.0.1, ::1 or localhost")
        }
        return .run(configuration)
    }

    /// The value of a setting by its name in the environment; nil if it is unset.
    public subscript(_ name: String) -> String? { values[name] }
    /// Returns the value of a numeric setting; nil if it is unset.
    public func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }

    // The accessors of the settings above; each setting's help text describes it.

    public var databaseURL: String { self["DATABASE_URL"] ?? "" }
    public var migrationDatabaseURL: String? { self["MIGRATION_DATABASE_URL"] }
    public var databasePoolSize: Int { number("DATABASE_POOL_SIZE") ?? 4 }
    public var host: String { self["HOST"] ?? "127.0.0.1" }
    public var port: Int { number("PORT") ?? 0 }
    public var requestTimeout: Int { number("REQUEST_TIMEOUT") ?? 10 }
    public var idleTimeout: Int { number("IDLE_TIMEOUT") ?? 60 }
    public var connectionsPerAddress: Int { number("CONNECTIONS_PER_ADDRESS") ?? 0 }
    public var failedCredentials: Int { number("FAILED_CREDENTIALS_PER_SECOND") ?? 0 }
    public var bodyRate: Int { number("BODY_BYTES_PER_SECOND") ?? 0 }
    public var requestRates: RequestRates.Limits {
        RequestRates.Limits(
            device: number("DEVICE_REQUESTS_PER_SECOND") ?? 0, fleet: number("FLEET_REQUESTS_PER_SECOND") ?? 0,
            operator: number("OPERATOR_REQUESTS_PER_SECOND") ?? 0)
    }
    public var partitions: Int { number("PARTITIONS") ?? 16 }
    public var stateCacheBytes: Int { (number("STATE_CACHE_MIB") ?? 256) << 20 }
    public var logLevel: Logger.Level { self["LOG_LEVEL"].flatMap { Logger.Level(rawValue: $0) } ?? .info }
    public var logFormat: LogFormat { self["LOG_FORMAT"].flatMap { LogFormat(rawValue: $0) } ?? .auto }
    public var isVirtualTime: Bool { self["VIRTUAL_TIME"] == "true" }
    public var isInsecure: Bool { self["INSECURE_DEV"] == "true" }
    public var drainTime: Duration { .seconds(number("DRAIN_SECONDS") ?? 0) }
    public var shutdownTimeout: Duration { .seconds(number("SHUTDOWN_TIMEOUT") ?? 10) }

    /// Returns the text of the file that a `…_FILE` setting names, without the last line end; nil if it is unset.
    ///
    /// - Throws: an error if the file can't be read.
    public func secret(_ name: String) throws(ConfigurationError) -> String? {
        guard let path = self[name] else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(name): cannot read the file that it names")
        }
        let text = String(decoding: data, as: UTF8.self)
        return text.last?.isNewline == true ? String(text.dropLast()) : text
    }

    /// Reads the operators' keys of `OPERATOR_KEY_FILE`. Without it there are none.
    public func operatorKeys() throws(ConfigurationError) -> OperatorKeys {
        guard let text = try secret("OPERATOR_KEY_FILE") else { return OperatorKeys() }
        do { return try OperatorKeys(file: text) } catch { throw ConfigurationError("OPERATOR_KEY_FILE, \(error)") }
    }
}
