import CommandLines
public import EventLog
import Foundation
public import HTTPKit
import Hummingbird
public import Identity
public import Logging
public import Postgres
public import ServiceLifecycle
public import Telemetry
import Timeline

/// The parts that all services have.
public struct ServiceBase: Sendable {
    let name: String
    public let configuration: ServiceConfiguration
    /// For connections outside the pool.
    public let options: ConnectionOptions
    /// The partitions that commit together.
    public let placement: LogPlacement
    public let pool: ConnectionPool
    /// The suite's time, virtual or real.
    public let clock: SharedClock
    /// The service that issues the tokens of devices.
    let tokenIssuer: String
    /// Limits the bad credentials of each address, on all ports.
    public let failures: FailedCredentials
    let refused: RefusedCredentials
    /// The incarnation of the log. The process ends when another one begins.
    public let incarnation: LogIncarnation
    /// The migrators of the service's schemas.
    let migrators: [Migrator]
    let certificate: ServerCertificate?
    public let metrics: Metrics
    /// Keeps the spans of traces; nil if they are not exported.
    public let tracer: Tracer?
    private let exporter: SpanExporter?
    /// For further health checks.
    public let readiness: Readiness
    public let logger: Logger

    /// The log of requests, on all ports.
    public var accessLog: AccessLog { AccessLog(logger, at: configuration.hasAccessLog ? .info : .debug) }

    /// Connects, and checks that the log and the schemas fit this program.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service that issues the tokens of devices.
    ///   - settings: returns the settings of PostgreSQL for each connection.
    ///   - migrators: those of the log and of the service's schemas.
    ///   - hasStates: whether the service has a machine, whose states Citus distributes with the log.
    public static func open(
        _ name: String, _ configuration: ServiceConfiguration, tokenIssuer: String = TokenIssuer.service,
        hasStates: Bool = false, settings: (LogPlacement) -> [String: String] = { _ in [:] }, migrators: [Migrator],
        logger: Logger
    ) async throws -> ServiceBase {
        let certificate = try configuration.certificate.certificate(logger: logger)
        let connection = try await Connection.open(try options(name, configuration, [:]), logger: logger)
        let placement = try await verify(connection, configuration, migrators, stateful: hasStates ? name : nil)
        let options = try options(name, configuration, settings(placement))
        let clock = SharedClock()
        let asked = ContinuousClock.now
        let row = try await connection.execute(Query(SharedClock.read, rowsExpected: 1))[0]
        clock.take(try ClockSample(row, realAt: 4, asked: asked))
        let incarnation = try await LogIncarnation.read(connection)
        await connection.close()
        let metrics = Metrics()
        let tracer = Tracer(share: configuration.traces.share, metrics: metrics)
        metrics.add(0, to: .spansExported)
        let exporter = try SpanExporter(configuration.traces, of: name, tracer, metrics: metrics, logger: logger)
        let refused = RefusedCredentials()
        let failures = FailedCredentials(
            perSecond: configuration.failedCredentials, metrics: metrics, refused: refused)
        return ServiceBase(
            name: name, configuration: configuration, options: options, placement: placement,
            pool: ConnectionPool(options, size: configuration.databasePoolSize, metrics: metrics, logger: logger),
            clock: clock, tokenIssuer: tokenIssuer, failures: failures, refused: refused, incarnation: incarnation,
            migrators: migrators, certificate: certificate, metrics: metrics, tracer: exporter.map { _ in tracer },
            exporter: exporter, readiness: Readiness(metrics: metrics, logger: logger), logger: logger)
    }

    /// Connects and runs only the checks of ``open(_:_:tokenIssuer:hasStates:settings:migrators:logger:)``.
    public static func check(
        _ name: String, _ configuration: ServiceConfiguration, hasStates: Bool = false, migrators: [Migrator],
        logger: Logger
    ) async throws {
        try await check(
            try options(name, configuration, [:]), configuration, stateful: hasStates ? name : nil,
            migrators: migrators, logger: logger)
    }

    /// Connects with other options, and runs the same checks.
    ///
    /// - Parameter stateful: a service whose states Citus distributes with the log; nil for none.
    public static func check(
        _ options: ConnectionOptions, _ configuration: ServiceConfiguration, stateful: String? = nil,
        migrators: [Migrator], logger: Logger
    ) async throws {
        let connection = try await Connection.open(options, logger: logger)
        _ = try await verify(connection, configuration, migrators, stateful: stateful)
        await connection.close()
    }

    /// Returns the options for connections with the role of the service.
    public static func options(
        _ name: String, _ configuration: ServiceConfiguration, _ settings: [String: String]
    ) throws -> ConnectionOptions {
        try ConnectionOptions(
            url: configuration.databaseURL, password: try configuration.databasePassword.read(),
            applicationName: "dormouse-\(name)", settings: settings)
    }

    /// Checks the log and the schemas. A program that does not fit could write wrong data, so it ends at once.
    ///
    /// - Returns: the partitions that commit together.
    private static func verify(
        _ connection: Connection, _ configuration: ServiceConfiguration, _ migrators: [Migrator], stateful: String?
    ) async throws -> LogPlacement {
        try await LogSchema.verify(connection, partitions: configuration.partitions)
        for migrator in migrators {
            if let problem = try await migrator.fault(on: connection) { throw PostgresError.migration(problem) }
        }
        return try await LogPlacement.read(connection, service: stateful)
    }

    /// Runs the loops and the server.
    ///
    /// - Parameters:
    ///   - first: the loop that all others need.
    ///   - storesRevocations: whether the service issues the tokens, and so writes the table of revocations.
    ///   - stuck: the fault of partitions that another replica may handle better. It counts only while the database
    ///     works.
    public func run(
        _ table: inout RouteTable, first: any Service, updates: WakeUpReceiver, tail: LogTail,
        storesRevocations: Bool = false, stuck: (@Sendable () -> String?)? = nil, checks: [HealthCheck] = [],
        loops: [any Service]
    ) async throws {
        let watch = DatabaseWatch(
            options, faults: pool.faults, incarnation: incarnation, migrators: migrators, logger: logger)
        let shared = [
            HealthCheck("database", .notReadyAtStart) { watch.fault },
            HealthCheck("schema") { watch.schemaFault },
            HealthCheck("days", .reported) { watch.daysFault },
            // Without it, events arrive a little later.
            HealthCheck("listener", .notReadyAtStart) {
                await updates.isListening ? nil : "the LISTEN connection is down"
            },
        ]
        for check in shared + checks { readiness.add(check) }
        if let stuck { readiness.add(HealthCheck("partitions") { watch.fault == nil ? stuck() : nil }) }
        table.addHealth(readiness, metrics: metrics)
        certificate?.add(to: metrics, port: "http")
        let pool = pool
        table.addLogLevel(configuration.logThreshold, logger: logger) { _ = try await pool.execute($0.query) }
        table.addOpenAPI(title: "Dormouse \(name)", version: Version.current)
        let keyring = TokenKeyring(pool: pool, issuer: tokenIssuer)
        _ = await keyring.refresh()
        let revoked = RevokedTokens(incarnation)
        let revocations = RevocationFollower(
            revoked, pool: pool, partitions: configuration.partitions, updates: updates,
            storesRevocations: storesRevocations, logger: logger)
        try await revocations.catchUp()
        let operatorKeys = try OperatorKeyFile(configuration, logger: logger) { _ = try await pool.execute($0.query) }
        readiness.add(HealthCheck("operator_keys", .reported) { operatorKeys.fault })
        let authenticator = Authenticator(
            operators: operatorKeys.keyring, tokens: keyring.verifier, revoked: revoked,
            insecure: configuration.isInsecure, failures: failures, refresh: { await keyring.refresh() })
        let host = ServiceHost(
            name: name, configuration: configuration,
            responder: table.responder(
                authenticator: authenticator, metrics: metrics, rates: RequestRates(configuration.requestRates),
                slots: RequestSlots(.init(knowsAddresses: configuration.connectionsPerAddress > 0)),
                incarnation: incarnation, accessLog: accessLog, tracer: tracer),
            // The services stop in reverse order, so the writer and the exporter stop after the server.
            services: [exporter].compactMap { $0 } + [
                RefusalWriter(refused: refused, pool: pool, logger: logger), first, tail,
                ClockFollower(clock, pool: pool, updates: updates, logger: logger),
            ] + loops
                + [revocations, TokenKeyFollower(keyring, revoked), operatorKeys, watch, readiness],
            readiness: readiness, certificate: certificate, http2: table.http2, logger: logger)
        try await host.run()
        await pool.close()
    }
}

extension HealthCheck {
    /// Returns a check that fails while the maintenance of the log fails.
    public static func upkeep(_ maintenance: LogMaintenance) -> HealthCheck {
        HealthCheck("upkeep", .reported) { maintenance.fault }
    }
}
