import Contracts
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
            "which of APNs's environments the provider endpoint is")
    ]

    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(
            PushMachine.self, configuration, logger: logger, migrations: try PushTables.migrations())
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: at start, whatever keeps it from serving, in one line that says what to do.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = PushPolicy(partitions: configuration.partitions)
        let environment = configuration["APNS_ENVIRONMENT"].flatMap { PushEnvironment(rawValue: $0) } ?? .sandbox
        try await DurableService.serve(PushMachine.self, configuration, policy: policy, logger: logger) {
            parts, table in
            let tables = PushTables(pool: parts.pool, partitions: configuration.partitions)
            let keys = ProviderKeys(tables, clock: RealClock())
            let endpoint = ProviderEndpoint(
                environment: environment, commands: parts.commands, tables: tables, keys: keys, clock: parts.clock)
            ProviderRoutes(endpoint: endpoint, tables: tables, keys: keys).add(to: &table)
            let connections = Connections(
                commands: parts.commands, pool: parts.pool, partitions: configuration.partitions, logger: logger)
            let stream = NotificationStream(
                commands: parts.commands, connections: connections, tail: parts.tail, metrics: parts.metrics)
            DeviceRoutes(
                commands: parts.commands, stream: stream, tables: tables, clock: parts.clock, policy: policy
            ).add(to: &table)
            let counts = NotificationCounts(pool: parts.pool, metrics: parts.metrics, logger: logger)
            let history = NotificationHistory(pool: parts.pool, partitions: configuration.partitions)
            NotificationRoutes(commands: parts.commands, history: history).add(to: &table)
            MetricsRoutes(counts: counts, clock: parts.clock).add(to: &table)
            return [connections, counts]
        }
    }
}
