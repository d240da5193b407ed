public import EventLog
import Foundation
public import HTTPKit
import Hummingbird
public import Identity
public import Logging
public import Machines
public import Postgres
public import Runtime
public import ServiceLifecycle
public import Telemetry
import Timeline

/// The parts of a service with a machine.
public struct ServiceParts<M: Machine>: Sendable {
    public let runtime: DurableRuntime<M>
    public let commands: Commands<M>
    public let tail: LogTail
    public let pool: ConnectionPool
    /// For connections outside the pool.
    public let options: ConnectionOptions
    /// The suite's time, virtual or real.
    public let clock: SharedClock
    public let configuration: ServiceConfiguration
    public let metrics: Metrics
    /// For further health checks.
    public let readiness: Readiness
    public let logger: Logger
}

/// Assembles a service with a machine: database, runtime, live tail, authentication, health, API description, server.
public enum DurableService {
    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    ///
    /// - Parameter migrations: the migrations of the service's own tables, numbered from 2.
    public static func migrate<M: Machine>(
        _ machine: M.Type, _ configuration: ServiceConfiguration, logger: Logger, migrations: [Migration] = []
    ) async throws {
        let connection = try await configuration.ownersConnection(logger)
        try await RuntimeSchema.migrate(
            service: M.name, connection, partitions: configuration.partitions,
            rolePassword: try configuration.secret("ROLE_PASSWORD_FILE"), version: M.version,
            more: migrations, logger: logger)
        if M.name == TokenIssuer.service { try await LogSchema.grantSigning(service: M.name, connection) }
        if configuration.isVirtualTime { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
    }

    /// Checks that the database fits this program. It changes nothing.
    ///
    /// - Parameter migrations: as in ``migrate(_:_:logger:migrations:)``.
    /// - Throws: an error of one line with the remedy if the program can't work with the database.
    public static func check<M: Machine>(
        _ machine: M.Type, _ configuration: ServiceConfiguration, logger: Logger, migrations: [Migration] = []
    ) async throws {
        try await ServiceBase.check(M.name, configuration, migrators: try migrators(M.self, migrations), logger: logger)
    }

    private static func migrators<M: Machine>(_ machine: M.Type, _ more: [Migration]) throws -> [Migrator] {
        let own = try RuntimeSchema.migrator(service: M.name, more: more)
        return [try LogSchema.migrator(), own]
    }

    /// Serves until a signal ends it.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service that issues the tokens of devices.
    ///   - migrations: as in ``migrate(_:_:logger:migrations:)``.
    ///   - build: adds the service's routes, and returns further loops to run.
    /// - Throws: an error of one line with the remedy if the service can't start.
    public static func serve<M: Machine>(
        _ machine: M.Type, _ configuration: ServiceConfiguration, policy: M.Policy,
        tokenIssuer: String = TokenIssuer.service, logger: Logger, migrations: [Migration] = [],
        build: (ServiceParts<M>, inout RouteTable) async throws -> [any Service]
    ) async throws {
        // Each statement names one partition, so a generic plan is as good as one for the values.
        let base = try await ServiceBase.open(
            M.name, configuration, tokenIssuer: tokenIssuer, settings: ["plan_cache_mode": "force_generic_plan"],
            migrators: try migrators(M.self, migrations), logger: logger)
        let runtime = DurableRuntime<M>(
            pool: base.pool, options: base.options, partitions: configuration.partitions, clock: base.clock,
            policy: policy, cacheBytes: configuration.stateCacheBytes, logger: logger)
        let tail = LogTail(
            pool: base.pool, partitions: configuration.partitions, updates: runtime.updates, logger: logger)
        let parts = ServiceParts(
            runtime: runtime, commands: Commands(runtime), tail: tail, pool: base.pool, options: base.options,
            clock: base.clock, configuration: configuration, metrics: base.metrics, readiness: base.readiness,
            logger: logger)
        var table = RouteTable()
        table.catchUp = { try await runtime.catchUp(with: $0) }
        let loops = try await build(parts, &table)
        runtime.addParkedDevices(to: &table)
        let maintenance = LogMaintenance(pool: base.pool, retentionDays: nil, logger: logger)
        try await base.run(
            &table, updates: runtime.updates, storesRevocations: M.name == tokenIssuer,
            stuck: { runtime.partitionsFailing },
            checks: [
                .listener { await runtime.isListening },
                HealthCheck("leases", .notReadyAtStart) {
                    await runtime.sharesPartitions ? nil : "the leases were not renewed in time"
                },
                .upkeep(maintenance),
                HealthCheck("waiting_partitions", .told) { runtime.partitionsWaiting },
                HealthCheck("states") { runtime.hasNewerMember ? runtime.newerStates : nil },
                HealthCheck("newer_states", .told) { runtime.hasNewerMember ? nil : runtime.newerStates },
            ],
            loops: [
                runtime, tail, ClockFollower(base.clock, pool: base.pool, updates: runtime.updates, logger: logger),
                maintenance,
                RuntimeGauges(runtime: runtime, metrics: base.metrics, clock: base.clock),
            ] + loops)
    }
}

/// The parts of a service without a machine.
public struct ReadOnlyParts: Sendable {
    public let tail: LogTail
    /// Receives the wake-ups for new events in the log.
    public let updates: WakeUpReceiver
    public let pool: ConnectionPool
    /// The suite's time, virtual or real.
    public let clock: SharedClock
    public let configuration: ServiceConfiguration
    public let metrics: Metrics
    /// For further health checks.
    public let readiness: Readiness
    public let logger: Logger
}

/// Assembles a service without a machine, which only reads the log.
public enum ReadOnlyService {
    /// Checks that the database fits this program. It changes nothing.
    ///
    /// - Parameter migrators: the migrators of the service's schemas, without the log's.
    /// - Throws: an error of one line with the remedy if the program can't work with the database.
    public static func check(
        _ name: String, _ configuration: ServiceConfiguration, migrators: [Migrator], logger: Logger
    ) async throws {
        try await ServiceBase.check(
            name, configuration, migrators: [try LogSchema.migrator()] + migrators, logger: logger)
    }

    /// Serves until a signal ends it.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service that issues the tokens of devices.
    ///   - migrators: the migrators of the service's schemas, without the log's.
    ///   - build: adds the service's routes, and returns further loops to run.
    public static func serve(
        _ name: String, _ configuration: ServiceConfiguration, tokenIssuer: String = TokenIssuer.service,
        migrators: [Migrator], logger: Logger,
        build: (ReadOnlyParts, inout RouteTable) async throws -> [any Service]
    ) async throws {
        let base = try await ServiceBase.open(
            name, configuration, tokenIssuer: tokenIssuer, migrators: [try LogSchema.migrator()] + migrators,
            logger: logger)
        let sender = WakeUpSender(pool: base.pool, sender: UUID(), logger: logger)
        let updates = WakeUpReceiver(base.options, sender: sender, logger: logger)
        let tail = LogTail(pool: base.pool, partitions: configuration.partitions, updates: updates, logger: logger)
        let parts = ReadOnlyParts(
            tail: tail, updates: updates, pool: base.pool, clock: base.clock, configuration: configuration,
            metrics: base.metrics, readiness: base.readiness, logger: logger)
        var table = RouteTable()
        let loops = try await build(parts, &table)
        try await base.run(
            &table, updates: updates,
            checks: [.listener { await updates.isListening }],
            loops: [updates, tail, ClockFollower(base.clock, pool: base.pool, updates: updates, logger: logger)] + loops
        )
    }
}

extension ServiceConfiguration {
    /// Opens a connection as the owner of the tables, for migrations.
    ///
    /// - Throws: an error if `MIGRATION_DATABASE_URL` is not set or its database can't be reached.
    public func ownersConnection(_ logger: Logger) async throws -> Connection {
        guard let url = migrationDatabaseURL else {
            throw ConfigurationError("MIGRATION_DATABASE_URL (--migration-database-url) is needed to migrate")
        }
        // A migration takes longer with larger tables, so this connection has no timeout.
        return try await Connection.open(try ConnectionOptions(url: url, pipelineTimeout: nil), logger: logger)
    }
}

extension DurableRuntime {
    /// The shortest stall that readiness reports.
    private static var patience: Duration { .seconds(5) }

    /// The fault of states that only a newer program can read.
    fileprivate var newerStates: String? {
        newerVersion > 0 ? "this program can't read states of version \(newerVersion), which are in use" : nil
    }

    /// The fault of partitions whose batches fail, if there is another replica that may do better.
    fileprivate var partitionsFailing: String? {
        hasOtherMembers ? text { if case .failing = $0 { true } else { false } } : nil
    }

    /// The fault of partitions without progress that no other replica can help.
    fileprivate var partitionsWaiting: String? {
        text { if case .failing = $0 { !hasOtherMembers } else { true } }
    }

    // The error itself may contain data, so only the log has it.
    private func text(where isWanted: (StuckPartition.Cause) -> Bool) -> String? {
        let stuck = stuckPartitions.filter { isWanted($0.cause) && $0.duration() > Self.patience }
        guard let first = stuck.first else { return nil }
        let numbers = stuck.map { String($0.partition) }.joined(separator: ", ")
        let seconds = first.duration().components.seconds
        return switch first.cause {
        case .failing: "partition \(numbers) has made no progress for \(seconds) s: see the log for the reason"
        case .heldUp: "partition \(numbers) has waited \(seconds) s for a lock that another session holds"
        case .halted: "partition \(numbers) needs a newer version of this service: deploy it to every replica"
        }
    }
}
