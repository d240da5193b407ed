import AsyncHTTPClient
import EventLog
import Foundation
import HTTPKit
public import Logging
import Postgres
public import ServiceKit
import ServiceLifecycle
import Telemetry

/// The service `ops`, assembled from its parts.
///
/// It has no machine. It reads the log, moves the virtual clock, and forwards requests about dead letters.
public struct Ops: ServiceProgram {
    /// The name of the service.
    public static let name = "ops"
    /// The default port.
    public static let port = 8080
    private let retentionDays: Int
    private let dashboardsPassword: SecretFile
    private let services: ServiceAddresses

    public init(_ reader: SettingsReader) {
        retentionDays = reader.number(
            "RETENTION_DAYS", 30, 1...3650, "days to keep events; dropping days needs MIGRATION_DATABASE_URL")
        dashboardsPassword = reader.secret(
            "DASHBOARDS_PASSWORD_FILE",
            "migrate only: file with the password of the role dashboards, which reads the views of schema ops")
        services = ServiceAddresses(reader)
    }

    /// Creates or updates the log, the schema `ops` and the role of `ops`. `VIRTUAL_TIME` makes the clock virtual.
    public func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await configuration.migrate(logger) { connection in
            try await LogSchema.migrate(connection, partitions: configuration.partitions, logger: logger)
            try await LogSchema.grantOperators(password: try configuration.rolePassword.read(), connection)
            try await OpsSchema.migrate(
                connection, dashboardsPassword: try dashboardsPassword.read(), logger: logger)
        }
    }

    public func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await ServiceBase.check(Self.name, configuration, migrators: try Self.migrators(), logger: logger)
    }

    public func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let calling = ParkedRoutes.calling(trusting: try services.trusted())
        try await HTTPClient.withHTTPClient(configuration: calling) { client in
            let parked = ParkedRoutes(addresses: services.addresses, client: client)
            let base = try await ServiceBase.open(
                Self.name, configuration, migrators: try Self.migrators(), logger: logger)
            let (pool, metrics) = (base.pool, base.metrics)
            let updates = WakeUpReceiver(
                base.options, sender: WakeUpSender(pool: pool, sender: UUID(), logger: logger), logger: logger)
            let tail = LogTail(pool: pool, partitions: configuration.partitions, updates: updates, logger: logger)
            var table = RouteTable()
            Self.addRoutes(to: &table, pool: pool, tail: tail, metrics: metrics, parked: parked)
            try await base.run(
                &table, first: updates, updates: updates, tail: tail,
                loops: [
                    try upkeep(base),
                    Counting(store: OpsStore(pool: pool), updates: updates, metrics: metrics, logger: logger),
                    LagGauge(queries: LogQueries(pool: pool, partitions: tail.partitions), metrics: metrics),
                ])
        }
    }

    private static func migrators() throws -> [Migrator] { [try LogSchema.migrator(), try OpsSchema.migrator()] }

    /// Adds all routes of the service.
    ///
    /// - Parameters:
    ///   - pool: connections of the role `dormouse_ops`.
    ///   - parked: forwards requests about dead letters to the other services.
    static func addRoutes(
        to table: inout RouteTable, pool: ConnectionPool, tail: LogTail, metrics: Metrics, parked: ParkedRoutes
    ) {
        let store = OpsStore(pool: pool)
        let queries = LogQueries(pool: pool, partitions: tail.partitions, skipIndex: store)
        EventRoutes(queries: queries, store: store, tail: tail, metrics: metrics).add(to: &table)
        StateRoutes(queries: queries, store: store).add(to: &table)
        LogRoutes(queries: queries, store: store).add(to: &table)
        StatsRoutes(store: store).add(to: &table)
        DeviceRoutes(store: store).add(to: &table)
        PushRoutes(store: store, queries: queries).add(to: &table)
        parked.add(to: &table)
        ClockRoutes(control: ClockControl(pool: pool)).add(to: &table)
        DashboardRoutes().add(to: &table)
    }

    /// Returns the full upkeep of the log with the owner's rights, else the part that the role of the service may do.
    private func upkeep(_ parts: ServiceBase) throws -> any Service {
        guard let url = parts.configuration.migrationDatabaseURL else {
            let maintenance = LogMaintenance(pool: parts.pool, retentionDays: nil, logger: parts.logger)
            parts.readiness.add(.upkeep(maintenance))
            return maintenance
        }
        // The time to drop a day grows with its size, so this connection has no timeout.
        let options = try ConnectionOptions(url: url, applicationName: "dormouse-ops-upkeep", pipelineTimeout: nil)
        let pool = ConnectionPool(options, size: 1, logger: parts.logger)
        let maintenance = LogMaintenance(pool: pool, retentionDays: retentionDays, logger: parts.logger)
        parts.readiness.add(.upkeep(maintenance))
        return Upkeep(maintenance: maintenance, pool: pool)
    }
}

/// The upkeep of the log with its own pool, which it closes at the end.
private struct Upkeep: Service {
    let maintenance: LogMaintenance
    let pool: ConnectionPool

    func run() async throws {
        try await maintenance.run()
        await pool.close()
    }
}
