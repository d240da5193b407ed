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
    /// `maintain` runs the upkeep of the log until a signal ends it. `begin-incarnation` marks the log as restored.
    public static let ownCommands: [String: OwnCommand<Ops>] = [
        "begin-incarnation": { try await $0.beginIncarnation($1, logger: $2) },
        "maintain": { try await $0.maintain($1, logger: $2) },
    ]
    let retentionDays: Int
    let auditDays: Int
    private let dashboardsPassword: SecretFile
    private let services: ServiceAddresses
    /// The database of the queries; nil for the one of the service.
    private let readURL: String?

    public init(_ reader: SettingsReader) {
        retentionDays = reader.number(
            "RETENTION_DAYS", 30, 1...3650, "days to keep events; `maintain` drops older ones")
        auditDays = reader.number(
            "AUDIT_DAYS", 90, 1...3650, "days to keep rows of the audit trail; `maintain` deletes older ones")
        dashboardsPassword = reader.secret(
            "DASHBOARDS_PASSWORD_FILE",
            "migrate only: file with the password of the role dormouse_dashboards, which reads the views of schema ops")
        services = ServiceAddresses(reader)
        readURL = reader.text(
            "READ_DATABASE_URL",
            "URL of PostgreSQL for the queries of the API, such as that of a standby, whose answers may be behind; by default"
                + " DATABASE_URL")
    }

    /// Creates or updates the log, the schema `ops` and the role of `ops`. `VIRTUAL_TIME` makes the clock virtual.
    public func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await configuration.migrate(logger) { connection in
            try await LogSchema.migrate(
                connection, partitions: configuration.partitions, shards: configuration.shards,
                roles: configuration.roles, logger: logger)
            try await LogSchema.grantOperators(
                password: try configuration.rolePassword.read(), roles: configuration.roles, connection)
            try await OpsSchema.migrate(
                connection, dashboardsPassword: try dashboardsPassword.read(), roles: configuration.roles,
                logger: logger)
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
                Self.name, configuration, settings: \.sessionSettings, migrators: try Self.migrators(),
                logger: logger)
            let (pool, metrics) = (base.pool, base.metrics)
            var reads: ReadPool?
            if let readURL { reads = try await base.readPool(readURL) }
            let updates = WakeUpReceiver(
                base.options, sender: WakeUpSender(pool: pool, sender: UUID(), logger: logger), logger: logger)
            // Only the owner of the tables can drop days: `maintain` does. This role can create the tables of new days.
            let upkeep = LogMaintenance(pool: pool, retentionDays: nil, logger: logger)
            base.readiness.add(.upkeep(upkeep))
            // People read the feed, so events may gather for a moment.
            let tail = LogTail(
                pool: pool, partitions: configuration.partitions, updates: updates, pace: .milliseconds(20),
                pollInterval: base.placement.pollInterval, logger: logger)
            var table = RouteTable()
            Self.addRoutes(
                to: &table, pool: pool, reads: reads?.pool, tail: tail, placement: base.placement, metrics: metrics,
                parked: parked)
            try await base.run(
                &table, first: updates, updates: updates, tail: tail, checks: [reads?.check].compactMap(\.self),
                loops: [
                    upkeep,
                    Counting(store: OpsStore(pool: pool), updates: updates, metrics: metrics, logger: logger),
                    LagGauge(
                        queries: LogQueries(pool: pool, partitions: tail.partitions), metrics: metrics,
                        retentionDays: retentionDays),
                    ServerGauges(pool: pool, metrics: metrics),
                ])
            await reads?.pool.close()
        }
    }

    static func migrators() throws -> [Migrator] { [try LogSchema.migrator(), try OpsSchema.migrator()] }

    /// Adds all routes of the service.
    ///
    /// - Parameters:
    ///   - pool: connections of the role `dormouse_ops`.
    ///   - reads: connections for queries, to a server that may be behind; by default those of `pool`.
    ///   - parked: forwards requests about dead letters to the other services.
    ///   - search: the limits of a page with a filter by text.
    static func addRoutes(
        to table: inout RouteTable, pool: ConnectionPool, reads: ConnectionPool? = nil, tail: LogTail,
        placement: LogPlacement = .oneDatabase, metrics: Metrics, parked: ParkedRoutes,
        search: SearchLimits = SearchLimits()
    ) {
        let reads = reads ?? pool
        let store = OpsStore(pool: reads)
        let queries = LogQueries(
            pool: reads, partitions: tail.partitions, placement: placement, skipIndex: store, search: search)
        EventRoutes(queries: queries, store: store, tail: tail, metrics: metrics).add(to: &table)
        StateRoutes(queries: queries, store: store).add(to: &table)
        LogRoutes(queries: queries, store: store).add(to: &table)
        StatsRoutes(store: store).add(to: &table)
        DeviceRoutes(store: store).add(to: &table)
        PushRoutes(store: store, queries: queries).add(to: &table)
        ReportRoutes(store: store, queries: queries).add(to: &table)
        parked.add(to: &table)
        OutlookRoutes(services: parked).add(to: &table)
        // An advance waits for cursors and for the answers of devices, so it reads what it has just written.
        ClockRoutes(control: ClockControl(pool: pool), store: OpsStore(pool: pool), tail: tail).add(to: &table)
        KeyRoutes().add(to: &table)
        AuditRoutes(store: store).add(to: &table)
        ErasureRoutes(store: store, partitions: tail.partitions).add(to: &table)
        DashboardRoutes().add(to: &table)
    }
}
