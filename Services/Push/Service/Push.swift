import Contracts
import Foundation
import HTTPKit
public import Logging
import Machines
public import PushMachine
import Timeline
public import ServiceKit

/// The service `push`, assembled from its parts.
public enum Push {
    /// The name of the service.
    public static let name = PushMachine.name
    /// The default port of the service.
    public static let port = 8083

    /// The settings that only this service has.
    public static let settings = [
        Setting.choice(
            "APNS_ENVIRONMENT", PushEnvironment.sandbox.rawValue, PushEnvironment.allCases.map(\.rawValue),
            "APNs environment that the provider endpoint represents"),
        Setting(
            "APNS_BROADCAST", "all", "apps that may broadcast: all, none, or bundle identifiers separated by commas",
            mustBe: "all, none, or bundle identifiers separated by commas"
        ) { BroadcastFeature($0) != nil },
        .number("APNS_PORT", 2197, 0...65535, "port of the provider endpoint, HTTP/2 over TLS; 0 selects a free port"),
        Setting("APNS_TLS_CERTIFICATE", nil, "PEM file with the provider endpoint's certificate chain"),
        Setting("APNS_TLS_KEY", nil, "PEM file with the key of that certificate"),
        Setting(
            "APNS_CERTIFICATES", certificateFolder,
            "folder of the development authority, created on first start; clients trust its ca.pem"),
        Setting(
            "APNS_NAMES", "localhost,127.0.0.1,::1,push",
            "host names and addresses of the endpoint, for its development certificate"),
        Setting(
            "APNS_CLIENT_AUTHORITY", nil,
            "PEM file of the authority that issues providers' certificates, if not the development authority; all its"
                + " certificates are trusted, so use an authority for this alone"),
        .number(
            "RETENTION_DAYS", 30, 1...3650, "days that notification counts are kept"),
        .number("APNS_IDLE_TIMEOUT", 3600, 1...86_400, "seconds after which an idle provider connection is closed"),
    ]

    /// The default of `APNS_CERTIFICATES`.
    static let certificateFolder = ".dormouse/apns"

    /// Creates or updates the database objects of the service: log, schema, consumer and role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(
            PushMachine.self, configuration, logger: logger, migrations: try PushStore.migrations())
    }

    /// Checks that the database fits this program. Changes nothing.
    ///
    /// - Throws: a one-line error with the remedy, if the database does not fit.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(
            PushMachine.self, configuration, logger: logger, migrations: try PushStore.migrations())
    }

    /// Serves until a signal stops the process.
    ///
    /// - Throws: a one-line error with the remedy, if the service can't start.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = PushPolicy(partitions: configuration.partitions)
        let environment = configuration["APNS_ENVIRONMENT"].flatMap { PushEnvironment(rawValue: $0) } ?? .sandbox
        try await DurableService.serve(
            PushMachine.self, configuration, policy: policy, logger: logger,
            migrations: try PushStore.migrations()
        ) {
            parts, table in
            let store = PushStore(pool: parts.pool, partitions: configuration.partitions)
            let keys = ProviderKeys(store)
            let relay = BroadcastRelay(
                store: store, runtime: parts.runtime, metrics: parts.metrics, logger: logger)
            let channels = ProviderChannels(
                store: store,
                feature: configuration["APNS_BROADCAST"].flatMap { BroadcastFeature($0) } ?? .all, relay: relay)
            let endpoint = ProviderEndpoint(
                environment: environment, commands: parts.commands, store: store, keys: keys, channels: channels,
                clock: parts.clock)
            ProviderRoutes(endpoint: endpoint, store: store, keys: keys).add(to: &table)
            let connections = Connections(commands: parts.commands, store: store, logger: logger)
            let server = ProviderServer(configuration, endpoint, metrics: parts.metrics, logger: logger)
            table.http2 = { channel in try server.accept(channel) }
            let tls = try ProviderTLS(configuration, logger: logger)
            let port = try await server.listen(
                host: configuration.host, port: configuration.number("APNS_PORT") ?? 2197,
                tls: tls)
            FileHandle.standardOutput.write(
                Data("push accepts providers on https://\(configuration.host):\(port)\n".utf8))
            let stream = NotificationStream(
                commands: parts.commands, connections: connections, tail: parts.tail, metrics: parts.metrics)
            DeviceRoutes(
                commands: parts.commands, stream: stream, store: store, clock: parts.clock, policy: policy
            ).add(to: &table)
            let counts = NotificationCounts(store: store, metrics: parts.metrics, logger: logger)
            NotificationRoutes(commands: parts.commands, store: store).add(to: &table)
            MetricsRoutes(store: store, clock: parts.clock).add(to: &table)
            let upkeep = Upkeep(
                store: store, commands: parts.commands, clock: parts.clock,
                retention: .days(Int64(configuration.number("RETENTION_DAYS") ?? 30)), logger: logger)
            return [connections, counts, keys, relay, server, tls.certificate, upkeep]
        }
    }
}

extension PushMachine: FleetMember {}
