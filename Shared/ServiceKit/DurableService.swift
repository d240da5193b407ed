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
import Telemetry
import Timeline

/// A service with a machine, which the durable runtime runs.
public protocol DurableService: ServiceProgram {
    associatedtype Rules: Machine

    /// The migrations of the service's own tables, numbered from 2; none by default.
    static func migrations() throws -> [Migration]
}

/// The parts of a service with a machine.
@dynamicMemberLookup
public struct ServiceParts<M: Machine>: Sendable {
    public let runtime: DurableRuntime<M>
    public let commands: Commands<M>
    public let tail: LogTail
    let base: ServiceBase

    /// A part that all services have.
    public subscript<Part>(dynamicMember part: KeyPath<ServiceBase, Part>) -> Part { base[keyPath: part] }
}

extension DurableService {
    public static var name: String { Rules.name }

    public static func migrations() throws -> [Migration] { [] }

    private static func migrators() throws -> [Migrator] {
        [try LogSchema.migrator(), try RuntimeSchema.migrator(service: name, more: try migrations())]
    }

    public func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await configuration.migrate(logger) { connection in
            try await RuntimeSchema.migrate(
                service: Self.name, connection, partitions: configuration.partitions, shards: configuration.shards,
                rolePassword: try configuration.rolePassword.read(), roles: configuration.roles, version: Rules.version,
                more: try Self.migrations(), logger: logger)
            // The service that registers devices also gives them their orders.
            if Self.name == TokenIssuer.service {
                try await LogSchema.grantSigning(service: Self.name, roles: configuration.roles, connection)
                try await LogSchema.grantOrderStreams(service: Self.name, roles: configuration.roles, connection)
            }
        }
    }

    public func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await ServiceBase.check(
            Self.name, configuration, hasStates: true, migrators: try Self.migrators(), logger: logger)
    }

    /// Assembles the service and serves until a signal ends it: database, runtime, live tail, authentication, health,
    /// API description, server.
    ///
    /// - Parameters:
    ///   - tokenIssuer: the service that issues the tokens of devices.
    ///   - limits: the durations after which the runtime acts on a stall.
    ///   - build: adds the service's routes, and returns further loops to run.
    /// - Throws: an error of one line with the remedy if the service can't start.
    public func serve(
        _ configuration: ServiceConfiguration, policy: Rules.Policy, tokenIssuer: String = TokenIssuer.service,
        limits: StallLimits = StallLimits(), logger: Logger,
        build: (ServiceParts<Rules>, inout RouteTable) async throws -> [any Service]
    ) async throws {
        // Each statement names its partitions, so a generic plan is as good as one for the values. Citus needs the
        // values to choose the shard.
        let base = try await ServiceBase.open(
            Self.name, configuration, tokenIssuer: tokenIssuer, hasStates: true,
            settings: { $0.isDistributed ? $0.sessionSettings : ["plan_cache_mode": "force_generic_plan"] },
            migrators: try Self.migrators(), logger: logger)
        let runtime = DurableRuntime<Rules>(
            pool: base.pool, options: base.options, partitions: configuration.partitions, clock: base.clock,
            policy: policy, cacheBytes: configuration.stateCacheBytes, limits: limits, placement: base.placement,
            metrics: base.metrics, tracer: base.tracer, logger: logger)
        let tail = LogTail(
            pool: base.pool, partitions: configuration.partitions, updates: runtime.updates,
            pollInterval: base.placement.pollInterval, logger: logger)
        let parts = ServiceParts(runtime: runtime, commands: Commands(runtime), tail: tail, base: base)
        var table = RouteTable()
        table.catchUp = { try await runtime.catchUp(with: $0) }
        let loops = try await build(parts, &table)
        runtime.addParkedDevices(to: &table)
        let maintenance = LogMaintenance(pool: base.pool, retentionDays: nil, logger: logger)
        let loop = RuntimeLoop { try await runtime.run() }
        try await base.run(
            &table, first: loop, updates: runtime.updates, tail: tail, storesRevocations: Self.name == tokenIssuer,
            stuck: { runtime.partitionsFailing },
            checks: [
                HealthCheck("leases", .notReadyAtStart) {
                    await runtime.sharesPartitions ? nil : "the leases were not renewed in time"
                },
                .upkeep(maintenance),
                HealthCheck("waiting_partitions", .reported) { runtime.partitionsWaiting },
                HealthCheck("log", .reported) { await runtime.loss.map { "\($0)" } },
                HealthCheck("states") { runtime.hasNewerMember ? runtime.newerStates : nil },
                HealthCheck("newer_states", .reported) { runtime.hasNewerMember ? nil : runtime.newerStates },
            ],
            loops: [
                maintenance, RuntimeGauges(runtime: runtime, metrics: base.metrics, clock: base.clock),
            ] + loops)
    }
}

/// Runs the runtime of a service by a direct call. The compiler specializes the runtime for the service's machine only
/// along direct calls, and a call by `any Service` is none.
private struct RuntimeLoop: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await body() }
}

extension ServiceConfiguration {
    /// Migrates on a connection as the owner of the tables. `VIRTUAL_TIME` makes the clock virtual.
    ///
    /// - Throws: an error if `MIGRATION_DATABASE_URL` is not set or its database can't be reached.
    public func migrate(_ logger: Logger, _ body: (Connection) async throws -> Void) async throws {
        guard let url = migrationDatabaseURL else {
            throw ConfigurationError("MIGRATION_DATABASE_URL (--migration-database-url) is needed to migrate")
        }
        // A migration takes longer with larger tables, so this connection has no timeout.
        let connection = try await Connection.open(
            try ConnectionOptions(url: url, pipelineTimeout: nil), logger: logger)
        try await body(connection)
        if isVirtualTime { try await LogSchema.makeClockVirtual(connection) }
        await connection.close()
    }
}

extension DurableRuntime {
    /// The shortest stall that readiness reports.
    private static var patience: Duration { .seconds(5) }

    /// The fault of states that only a newer program can read.
    fileprivate var newerStates: String? {
        newerState.map { "this program can't read states of version \($0), which are in use" }
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
