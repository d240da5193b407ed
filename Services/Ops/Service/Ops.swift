import AsyncHTTPClient
import EventLog
import HTTPKit
public import Logging
import Postgres
public import ServiceKit
import ServiceLifecycle
import Telemetry

/// The service `ops`, assembled from its parts.
///
/// It has no machine. It reads the log, moves the virtual clock, and forwards requests about dead letters.
public enum Ops {
    /// The name of the service.
    public static let name = "ops"
    /// The default port.
    public static let port = 8080

    /// The settings that only this service has.
    public static let settings: [Setting] =
        [
            .number(
                "RETENTION_DAYS", 30, 1...3650,
                "days to keep events; dropping days needs MIGRATION_DATABASE_URL"),
            Setting(
                "DASHBOARDS_PASSWORD_FILE", nil,
                "migrate only: file with the password of the role dashboards, which reads the views of schema ops"),
        ] + ParkedRoutes.settings

    /// Creates or updates the log, the schema `ops` and the role of `ops`. `VIRTUAL_TIME` makes the clock virtual.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let connection = try await configuration.ownersConnection(logger)
        try await LogSchema.migrate(connection, partitions: configuration.partitions, logger: logger)
        try await LogSchema.grantOperators(password: try configuration.secret("ROLE_PASSWORD_FILE"), connection)
        try await OpsSchema.migrate(
            connection, dashboardsPassword: try configuration.secret("DASHBOARDS_PASSWORD_FILE"), logger: logger)
        if configuration.isVirtualTime { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
    }

    /// Compares the migrations of the database with this program. It changes nothing.
    ///
    /// - Throws: an error with a remedy, on one line, if they differ.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await ReadOnlyService.check(name, configuration, migrators: [try OpsSchema.migrator()], logger: logger)
    }

    /// Serves requests until a signal ends the process.
    ///
    /// - Throws: an error with a remedy, on one line, if the service cannot start.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let calling = ParkedRoutes.calling(trusting: try ParkedRoutes.trusted(configuration))
        try await HTTPClient.withHTTPClient(configuration: calling) { client in
            let parked = ParkedRoutes(addresses: ParkedRoutes.addresses(configuration), client: client)
            let migrators = [try OpsSchema.migrator()]
            try await ReadOnlyService.serve(name, configuration, migrators: migrators, logger: logger) { parts, table in
                addRoutes(to: &table, pool: parts.pool, tail: parts.tail, metrics: parts.metrics, parked: parked)
                return [
                    try upkeep(parts),
                    Counting(
                        store: OpsStore(pool: parts.pool), updates: parts.updates, metrics: parts.metrics,
                        logger: parts.logger),
                    LagGauge(
                        queries: LogQueries(pool: parts.pool, partitions: parts.tail.partitions),
                        metrics: parts.metrics),
                ]
            }
        }
    }

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
        EventRoutes(queries: queries, tail: tail, metrics: metrics).add(to: &table)
        StateRoutes(queries: queries, store: store).add(to: &table)
        LogRoutes(queries: queries, store: store).add(to: &table)
        StatsRoutes(store: store).add(to: &table)
        DeviceRoutes(store: store).add(to: &table)
        parked.add(to: &table)
        ClockRoutes(control: ClockControl(pool: pool)).add(to: &table)
        DashboardRoutes().add(to: &table)
    }

    /// Returns the full upkeep of the log with the owner's rights, else the part that the role of the service may do.
    private static func upkeep(_ parts: ReadOnlyParts) throws -> any Service {
        guard let url = parts.configuration.migrationDatabaseURL else {
            let maintenance = LogMaintenance(pool: parts.pool, retentionDays: nil, logger: parts.logger)
            parts.readiness.add(.upkeep(maintenance))
            return maintenance
        }
        // The time to drop a day grows with its size, so this connection has no timeout.
        let options = try ConnectionOptions(url: url, applicationName: "dormouse-ops-upkeep", pipelineTimeout: nil)
        let pool = ConnectionPool(options, size: 1, logger: parts.logger)
        let days = parts.configuration.number("RETENTION_DAYS") ?? 30
        let maintenance = LogMaintenance(pool: pool, retentionDays: days, logger: parts.logger)
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
