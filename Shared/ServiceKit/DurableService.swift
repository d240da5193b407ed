public import EventLog
import Foundation
import Hummingbird
public import Logging
public import Machines
public import Postgres
public import Runtime
public import ServiceLifecycle
import Timeline

/// What a service with a machine is put together from.
public struct ServiceParts<M: Machine>: Sendable {
    public let runtime: DurableRuntime<M>
    public let commands: Commands<M>
    public let tail: LogTail
    public let pool: ConnectionPool
    /// For connections beside the pool's.
    public let options: ConnectionOptions
    /// The suite's time, virtual or real.
    public let clock: SharedClock
    public let configuration: ServiceConfiguration
    public let metrics: Metrics
    public let logger: Logger
}

/// Puts a service together around its machine: database, runtime, tail, credentials, health, API description, server.
public enum DurableService {
    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    ///
    /// - Parameter migrations: of tables of the service's own, numbered from 2 on.
    public static func migrate<M: Machine>(
        _ machine: M.Type, _ configuration: ServiceConfiguration, logger: Logger, migrations: [Migration] = []
    ) async throws {
        let connection = try await configuration.ownersConnection(logger)
        try await RuntimeSchema.migrate(
            service: M.name, connection, partitions: configuration.partitions,
            rolePassword: try configuration.secret("ROLE_PASSWORD_FILE"), holdsMoments: M.holdsMoments,
            more: migrations, logger: logger)
        if M.name == TokenIssuer.service { try await LogSchema.grantSigning(service: M.name, connection) }
        if configuration.isVirtualTime { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
    }

    /// Serves until a signal ends it.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service whose tokens open devices.
    ///   - build: adds the service's routes, and gives back further loops to run.
    /// - Throws: at start, whatever keeps it from serving, in one line that says what to do.
    public static func serve<M: Machine>(
        _ machine: M.Type, _ configuration: ServiceConfiguration, policy: M.Policy,
        tokenIssuer: String = TokenIssuer.service, logger: Logger,
        build: (ServiceParts<M>, inout RouteTable) async throws -> [any Service]
    ) async throws {
        // Its statements are always the same, and each names one partition: planning them anew would find nothing better.
        let base = try await ServiceBase.open(
            M.name, configuration, tokenIssuer: tokenIssuer, settings: ["plan_cache_mode": "force_generic_plan"],
            logger: logger)
        let runtime = DurableRuntime<M>(
            pool: base.pool, options: base.options, partitions: configuration.partitions, clock: base.clock,
            policy: policy, logger: logger)
        let tail = LogTail(
            pool: base.pool, partitions: configuration.partitions, news: runtime.news, logger: logger)
        let parts = ServiceParts(
            runtime: runtime, commands: Commands(runtime), tail: tail, pool: base.pool, options: base.options,
            clock: base.clock, configuration: configuration, metrics: base.metrics, logger: logger)
        var table = RouteTable()
        table.catchUp = { try await runtime.catchUp(with: $0) }
        let loops = try await build(parts, &table)
        runtime.addParkedDevices(to: &table)
        try await base.run(
            &table, news: runtime.news, isKeeper: M.name == tokenIssuer,
            checks: [
                HealthCheck("listener") { await runtime.isListening ? nil : "the listening connection is down" },
                HealthCheck("leases") { await runtime.sharesPartitions ? nil : "the leases were not renewed in time" },
            ],
            loops: [
                runtime, tail, ClockFollower(base.clock, pool: base.pool, news: runtime.news, logger: logger),
                LogMaintenance(pool: base.pool, retentionDays: nil, logger: logger),
                RuntimeGauges(runtime: runtime, metrics: base.metrics),
            ] + loops)
    }
}

/// What a service without a machine is put together from.
public struct PlainParts: Sendable {
    public let tail: LogTail
    /// What tells that there is something new in the log.
    public let news: HintReceiver
    public let pool: ConnectionPool
    /// The suite's time, virtual or real.
    public let clock: SharedClock
    public let configuration: ServiceConfiguration
    public let metrics: Metrics
    public let logger: Logger
}

/// Puts a service together that only reads the log.
public enum PlainService {
    /// Serves until a signal ends it.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service whose tokens open devices.
    ///   - build: adds the service's routes, and gives back further loops to run.
    public static func serve(
        _ name: String, _ configuration: ServiceConfiguration, tokenIssuer: String = TokenIssuer.service,
        logger: Logger,
        build: (PlainParts, inout RouteTable) async throws -> [any Service]
    ) async throws {
        let base = try await ServiceBase.open(name, configuration, tokenIssuer: tokenIssuer, logger: logger)
        let sender = HintSender(pool: base.pool, sender: UUID(), logger: logger)
        let news = HintReceiver(base.options, sender: sender, logger: logger)
        let tail = LogTail(pool: base.pool, partitions: configuration.partitions, news: news, logger: logger)
        let parts = PlainParts(
            tail: tail, news: news, pool: base.pool, clock: base.clock, configuration: configuration,
            metrics: base.metrics, logger: logger)
        var table = RouteTable()
        let loops = try await build(parts, &table)
        try await base.run(
            &table, news: news,
            checks: [HealthCheck("listener") { await news.isListening ? nil : "the listening connection is down" }],
            loops: [news, tail, ClockFollower(base.clock, pool: base.pool, news: news, logger: logger)] + loops)
    }
}

/// What both kinds of service have.
struct ServiceBase {
    let name: String
    let configuration: ServiceConfiguration
    let options: ConnectionOptions
    let pool: ConnectionPool
    let clock: SharedClock
    /// Whose tokens open devices.
    let tokenIssuer: String
    let certificate: ServerCertificate?
    let metrics = Metrics()
    let logger: Logger

    /// Connects, and checks that the log is there and fits.
    static func open(
        _ name: String, _ configuration: ServiceConfiguration, tokenIssuer: String, settings: [String: String] = [:],
        logger: Logger
    ) async throws -> ServiceBase {
        let certificate = try configuration.serverCertificate(logger: logger)
        let options = try ConnectionOptions(
            url: configuration.databaseURL, password: try configuration.secret("DATABASE_PASSWORD_FILE"),
            applicationName: "dormouse-\(name)", settings: settings)
        let connection = try await Connection.open(options, logger: logger)
        try await LogSchema.verify(connection, partitions: configuration.partitions)
        let setting = try SharedClock.setting(try await connection.run(Call(SharedClock.read, rowsExpected: 1))[0])
        await connection.close()
        return ServiceBase(
            name: name, configuration: configuration, options: options,
            pool: ConnectionPool(options, size: configuration.databasePoolSize, logger: logger),
            clock: SharedClock(setting), tokenIssuer: tokenIssuer, certificate: certificate, logger: logger)
    }

    /// Runs the loops and, before them, the server.
    ///
    /// - Parameter isKeeper: whether the service issues the tokens, and so keeps the book of the void ones.
    func run(
        _ table: inout RouteTable, news: HintReceiver, isKeeper: Bool = false, checks: [HealthCheck],
        loops: [any Service]
    ) async throws {
        let database = HealthCheck("database") {
            do {
                _ = try await pool.run(Call(Statement("SELECT 1")))
                return nil
            } catch { return "\(error)" }
        }
        let queries = LogQueries(pool: pool, partitions: configuration.partitions)
        let days = HealthCheck("days") { await queries.daysFault() }
        table.addHealth([database, days] + checks, metrics: metrics)
        table.addOpenAPI(title: "Dormouse \(name)", version: "1")
        let keyring = TokenKeyring(pool: pool, issuer: tokenIssuer)
        _ = await keyring.refresh()
        let void = VoidTokens()
        let revocations = RevocationFollower(
            void, pool: pool, partitions: configuration.partitions, news: news, isKeeper: isKeeper, logger: logger)
        try await revocations.catchUp()
        let authenticator = Authenticator(
            operators: try configuration.operatorKeys(), tokens: keyring.verifier, void: void,
            insecure: configuration.isInsecure, refresh: { await keyring.refresh() })
        let host = ServiceHost(
            name: name, configuration: configuration,
            responder: table.responder(
                authenticator: authenticator, metrics: metrics, rates: RequestRates(configuration.requestRates)),
            services: loops + [revocations], certificate: certificate, http2: table.http2, logger: logger)
        try await host.run()
        await pool.close()
    }
}

extension ServiceConfiguration {
    /// A connection as the owner of the tables, for migrations.
    ///
    /// - Throws: where `MIGRATION_DATABASE_URL` is not set, or can't be reached.
    public func ownersConnection(_ logger: Logger) async throws -> Connection {
        guard let url = migrationDatabaseURL else {
            throw ConfigurationError("MIGRATION_DATABASE_URL (--migration-database-url) is needed to migrate")
        }
        return try await Connection.open(try ConnectionOptions(url: url), logger: logger)
    }
}
