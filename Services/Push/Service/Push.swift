import Contracts
import Foundation
public import Logging
import Machines
import PushMachine
import Timeline
public import ServiceKit

/// The service `push`, put together: the one place that knows all its parts.
public enum Push {
    public static let name = PushMachine.name
    public static let port = 8083

    /// The service's own settings.
    public static let settings = [
        Setting.choice(
            "APNS_ENVIRONMENT", PushEnvironment.sandbox.rawValue, PushEnvironment.allCases.map(\.rawValue),
            "which of APNs's environments the provider endpoint is"),
        Setting(
            "APNS_BROADCAST", "all", "apps that may broadcast: all, none, or bundle identifiers with commas",
            mustBe: "all, none, or bundle identifiers with commas"
        ) { BroadcastFeature($0) != nil },
        .number("APNS_PORT", 2197, 0...65535, "port of the provider endpoint, HTTP/2 over TLS; 0 takes any"),
        Setting("APNS_TLS_CERTIFICATE", nil, "PEM file with the provider endpoint's certificate chain"),
        Setting("APNS_TLS_KEY", nil, "PEM file with the key of that certificate"),
        Setting(
            "APNS_CERTIFICATES", certificateFolder,
            "folder of a development authority, made on first start; clients trust its ca.pem"),
        Setting(
            "APNS_NAMES", "localhost,127.0.0.1,::1,push",
            "names and addresses by which providers reach the endpoint, for its development certificate"),
        Setting(
            "APNS_CLIENT_AUTHORITY", nil,
            "PEM file with who issues providers' certificates, if another; each that it issued is trusted, so it must be"
                + " an authority for this alone"),
        .number(
            "RETENTION_DAYS", 30, 1...3650, "days for which counts are kept, as the log keeps its events"),
        .number("APNS_IDLE_TIMEOUT", 3600, 1...86_400, "seconds after which an idle provider's connection is closed"),
    ]

    /// Where the development authority is, unless it is set.
    static let certificateFolder = ".dormouse/apns"

    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(
            PushMachine.self, configuration, logger: logger, migrations: try PushTables.migrations())
    }

    /// Compares the database with this program, and changes nothing.
    ///
    /// - Throws: an error of one line with the remedy, if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(
            PushMachine.self, configuration, logger: logger, migrations: try PushTables.migrations())
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: at start, whatever keeps it from serving, in one line that says what to do.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = PushPolicy(partitions: configuration.partitions)
        let environment = configuration["APNS_ENVIRONMENT"].flatMap { PushEnvironment(rawValue: $0) } ?? .sandbox
        try await DurableService.serve(
            PushMachine.self, configuration, policy: policy, logger: logger,
            migrations: try PushTables.migrations()
        ) {
            parts, table in
            let tables = PushTables(pool: parts.pool, partitions: configuration.partitions)
            let keys = ProviderKeys(tables)
            let relay = BroadcastRelay(
                pool: parts.pool, runtime: parts.runtime, metrics: parts.metrics, logger: logger)
            let channels = ProviderChannels(
                tables: ChannelTables(pool: parts.pool, partitions: configuration.partitions),
                feature: configuration["APNS_BROADCAST"].flatMap { BroadcastFeature($0) } ?? .all, relay: relay)
            let endpoint = ProviderEndpoint(
                environment: environment, commands: parts.commands, tables: tables, keys: keys, channels: channels,
                clock: parts.clock)
            ProviderRoutes(endpoint: endpoint, tables: tables, keys: keys).add(to: &table)
            let connections = Connections(
                commands: parts.commands, pool: parts.pool, partitions: configuration.partitions, logger: logger)
            let server = ProviderServer(configuration, endpoint, metrics: parts.metrics, logger: logger)
            table.http2 = { channel in try server.accept(channel) }
            let tls = try ProviderTLS(configuration, logger: logger)
            let port = try await server.listen(
                host: configuration.host, port: configuration.number("APNS_PORT") ?? 2197,
                tls: tls)
            FileHandle.standardOutput.write(
                Data("push takes providers on https://\(configuration.host):\(port)\n".utf8))
            let stream = NotificationStream(
                commands: parts.commands, connections: connections, tail: parts.tail, metrics: parts.metrics)
            DeviceRoutes(
                commands: parts.commands, stream: stream,
                timelines: NotificationTimeline(pool: parts.pool, partitions: configuration.partitions),
                channels: channels.tables, clock: parts.clock, policy: policy
            ).add(to: &table)
            let counts = NotificationCounts(pool: parts.pool, metrics: parts.metrics, logger: logger)
            let history = NotificationHistory(pool: parts.pool, partitions: configuration.partitions)
            NotificationRoutes(commands: parts.commands, history: history).add(to: &table)
            MetricsRoutes(counts: counts, clock: parts.clock).add(to: &table)
            let upkeep = Upkeep(
                counts: counts, channels: channels.tables, commands: parts.commands, clock: parts.clock,
                retention: .days(Int64(configuration.number("RETENTION_DAYS") ?? 30)), logger: logger)
            return [connections, counts, keys, relay, server, tls.certificate, upkeep]
        }
    }
}
