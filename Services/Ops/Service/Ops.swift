import AsyncHTTPClient
import EventLog
public import Logging
import Postgres
public import ServiceKit
import ServiceLifecycle

/// The service `ops`, put together: the one place that knows all its parts.
///
/// It has no machine: it reads the log. It can change nothing but the virtual clock, and hands orders about parked devices on to their services.
public enum Ops {
    public static let name = "ops"
    public static let port = 8080

    /// Its own settings.
    public static let settings: [Setting] =
        [
            .number(
                "RETENTION_DAYS", 30, 1...3650,
                "days that events are kept, where MIGRATION_DATABASE_URL gives the right to drop"),
            Setting(
                "DASHBOARDS_PASSWORD_FILE", nil,
                "file with a password for the role dashboards, which reads the views of schema ops; with migrate"),
        ] + ParkedRoutes.settings

    /// Creates or updates the database: the log, and the role of `ops`. Makes the log's clock virtual with `VIRTUAL_TIME`.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let connection = try await configuration.ownersConnection(logger)
        try await LogSchema.migrate(connection, partitions: configuration.partitions, logger: logger)
        try await LogSchema.grantOperators(password: try configuration.secret("ROLE_PASSWORD_FILE"), connection)
        try await OpsSchema.migrate(
            connection, dashboardsPassword: try configuration.secret("DASHBOARDS_PASSWORD_FILE"), logger: logger)
        if configuration.isVirtualTime { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
    }

    /// Compares the database with this program, and changes nothing.
    ///
    /// - Throws: an error of one line with the remedy, if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await PlainService.check(name, configuration, migrators: [try OpsSchema.migrator()], logger: logger)
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: at start, whatever keeps it from serving, in one line that says what to do.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let calling = ParkedRoutes.calling(trusting: try ParkedRoutes.trusted(configuration))
        try await HTTPClient.withHTTPClient(configuration: calling) { client in
            let parked = ParkedRoutes(addresses: ParkedRoutes.addresses(configuration), client: client)
            let migrators = [try OpsSchema.migrator()]
            try await PlainService.serve(name, configuration, migrators: migrators, logger: logger) { parts, table in
                addRoutes(to: &table, pool: parts.pool, tail: parts.tail, metrics: parts.metrics, parked: parked)
                return [
                    try upkeep(parts),
                    Counting(pool: parts.pool, news: parts.news, metrics: parts.metrics, logger: parts.logger),
                    LagGauge(
                        queries: LogQueries(pool: parts.pool, partitions: parts.tail.partitions),
                        metrics: parts.metrics),
                ]
            }
        }
    }

    /// All routes of the service.
    ///
    /// - Parameters:
    ///   - pool: of the role `dormouse_ops`.
    ///   - parked: hands orders on to the other services.
    static func addRoutes(
        to table: inout RouteTable, pool: ConnectionPool, tail: LogTail, metrics: Metrics, parked: ParkedRoutes
    ) {
        let queries = LogQueries(
            pool: pool, partitions: tail.partitions, outline: StretchOutline(pool: pool))
        EventRoutes(queries: queries, tail: tail, metrics: metrics).add(to: &table)
        StateRoutes(queries: queries, pool: pool).add(to: &table)
        LogRoutes(queries: queries, pool: pool).add(to: &table)
        StatsRoutes(pool: pool).add(to: &table)
        DeviceRoutes(pool: pool).add(to: &table)
        parked.add(to: &table)
        ClockRoutes(control: ClockControl(pool: pool)).add(to: &table)
        DashboardRoutes().add(to: &table)
    }

    /// With the owner's rights the whole upkeep of the log, else what the service's own role may do of it.
    private static func upkeep(_ parts: PlainParts) throws -> any Service {
        guard let url = parts.configuration.migrationDatabaseURL else {
            let maintenance = LogMaintenance(pool: parts.pool, retentionDays: nil, logger: parts.logger)
            parts.readiness.add(.upkeep(maintenance))
            return maintenance
        }
        // The time to drop a day grows with its size, so this connection has no deadline.
        let options = try ConnectionOptions(url: url, applicationName: "dormouse-ops-upkeep", flightTimeout: nil)
        let pool = ConnectionPool(options, size: 1, logger: parts.logger)
        let days = parts.configuration.number("RETENTION_DAYS") ?? 30
        let maintenance = LogMaintenance(pool: pool, retentionDays: days, logger: parts.logger)
        parts.readiness.add(.upkeep(maintenance))
        return Upkeep(maintenance: maintenance, pool: pool)
    }
}

/// The log's upkeep with a pool of its own, which goes when it ends.
private struct Upkeep: Service {
    let maintenance: LogMaintenance
    let pool: ConnectionPool

    func run() async throws {
        try await maintenance.run()
        await pool.close()
    }
}
