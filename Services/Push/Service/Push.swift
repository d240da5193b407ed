import Contracts
import Foundation
import HTTPKit
public import Logging
import Machines
public import Postgres
public import PushCore
import Timeline
public import ServiceKit

/// The service `push`, assembled from its parts.
public struct Push: DurableService {
    public typealias Rules = PushMachine
    /// The default port of the service.
    public static let port = 8083
    /// The default of `APNS_CERTIFICATES`.
    static let certificateFolder = ".dormouse/apns"

    private let environment: PushEnvironment
    private let broadcast: BroadcastFeature
    private let providerPort: Int
    let tls: ProviderTLS.Settings
    private let retentionDays: Int
    private let idleTimeout: Int
    private let profiles: ProfilesFile

    public init(_ reader: SettingsReader) {
        environment = reader.choice(
            "APNS_ENVIRONMENT", .sandbox, "APNs environment that the provider endpoint represents")
        broadcast = reader.value(
            "APNS_BROADCAST", .all, shown: "all",
            "apps that may broadcast: all, none, or bundle identifiers separated by commas",
            mustBe: "all, none, or bundle identifiers separated by commas"
        ) { BroadcastFeature($0) }
        providerPort = reader.number(
            "APNS_PORT", 2197, 0...65535, "port of the provider endpoint, HTTP/2 over TLS; 0 selects a free port")
        tls = ProviderTLS.Settings(reader)
        retentionDays = reader.number("RETENTION_DAYS", 30, 1...3650, "days that notification counts are kept")
        idleTimeout = reader.number(
            "APNS_IDLE_TIMEOUT", 3600, 1...86_400, "seconds after which an idle provider connection is closed")
        profiles = ProfilesFile(reader)
    }

    public static func migrations() throws -> [Migration] { try PushStore.migrations() }

    public func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let zones = TimeZones()
        var policy = PushPolicy(partitions: configuration.partitions) { zone, moment in zones.offset(zone, at: moment) }
        policy.generations = try profiles.read()
        try await serve(configuration, policy: policy, logger: logger) { parts, table in
            let store = PushStore(pool: parts.pool, partitions: configuration.partitions)
            let keys = ProviderKeys(store)
            let relay = BroadcastRelay(
                store: store, runtime: parts.runtime, metrics: parts.metrics, logger: logger)
            let channels = ProviderChannels(store: store, feature: broadcast, relay: relay)
            let endpoint = ProviderEndpoint(
                environment: environment, commands: parts.commands, store: store, keys: keys, channels: channels,
                clock: parts.clock, failures: parts.failures, logger: logger)
            ProviderRoutes(endpoint: endpoint, store: store, keys: keys).add(to: &table)
            let connections = Connections(commands: parts.commands, store: store, logger: logger)
            let server = ProviderServer(
                configuration, idleTimeout: idleTimeout, endpoint, metrics: parts.metrics, tracer: parts.tracer,
                accessLog: parts.accessLog, logger: logger)
            table.http2 = { channel in try server.accept(channel) }
            let tls = try ProviderTLS(tls, logger: logger)
            tls.certificate.add(to: parts.metrics, port: "apns")
            let port = try await server.listen(host: configuration.host, port: providerPort, tls: tls)
            FileHandle.standardOutput.write(
                Data("push accepts providers on https://\(configuration.host):\(port)\n".utf8))
            let delays = DeliveryDelays(clock: parts.clock, metrics: parts.metrics)
            let stream = NotificationStream(
                commands: parts.commands, connections: connections, tail: parts.tail, metrics: parts.metrics,
                delays: delays)
            DeviceRoutes(
                commands: parts.commands, stream: stream, store: store, clock: parts.clock, policy: policy
            ).add(to: &table)
            FleetRoutes(
                commands: parts.commands, connections: connections, tail: parts.tail, metrics: parts.metrics,
                delays: delays
            ).add(to: &table)
            let counts = NotificationCounts(store: store, metrics: parts.metrics, logger: logger)
            NotificationRoutes(commands: parts.commands, store: store).add(to: &table)
            MetricsRoutes(store: store, clock: parts.clock).add(to: &table)
            let upkeep = Upkeep(
                store: store, commands: parts.commands, clock: parts.clock, retention: .days(Int64(retentionDays)),
                logger: logger)
            return [connections, counts, keys, relay, server, tls.certificate, upkeep]
        }
    }
}

extension PushMachine: FleetMember {}
