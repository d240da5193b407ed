import Contracts
import EventLog
import Identity
public import LifecycleMachine
public import Logging
import Machines
public import ServiceKit

/// The entry points of the service `lifecycle`.
public enum Lifecycle {
    /// The name of the service.
    public static let name = LifecycleMachine.name
    /// The default port.
    public static let port = 8081

    /// The settings that only this service has.
    public static let settings: [Setting] = [
        Setting(
            "LIFECYCLE_PROFILES_FILE", nil,
            "a JSON file that overrides limits of the built-in profiles, for example {\"ios15\":{\"backgroundTasks\":25}}"
        )
    ]

    /// Creates or updates the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(LifecycleMachine.self, configuration, logger: logger)
    }

    /// Compares the database with this program, and changes nothing.
    ///
    /// - Throws: an error of one line with the remedy, if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(LifecycleMachine.self, configuration, logger: logger)
    }

    /// Serves requests until a signal ends the process.
    ///
    /// - Throws: an error of one line with the remedy, if the service can't start.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = try LifecyclePolicy(configuration)
        try await DurableService.serve(
            LifecycleMachine.self, configuration, policy: policy, logger: logger
        ) { parts, table in
            let tokens = try await TokenIssuer.open(parts.pool, issuer: name)
            LifecycleRoutes(
                commands: parts.commands, tail: parts.tail, tokens: tokens, clock: parts.clock, policy: policy,
                terminations: EventHistory(pool: parts.pool, partitions: configuration.partitions),
                metrics: parts.metrics
            ).add(to: &table)
            return []
        }
    }
}

/// A fleet token gives access to the devices of its fleet.
extension LifecycleMachine: FleetMember {
    public var fleet: String? { registration?.fleet }
}
