import Contracts
import EventLog
import Identity
public import LifecycleCore
public import Logging
import Machines
public import ServiceKit

/// The service `lifecycle`, assembled from its parts.
public struct Lifecycle: DurableService {
    public typealias Rules = LifecycleMachine
    /// The default port.
    public static let port = 8081
    public static let ownCommands: [String: OwnCommand<Lifecycle>] = [
        "rotate-key": { try await $0.rotateKey($1, logger: $2) },
        "void-keys": { try await $0.voidKeys($1, logger: $2) },
    ]
    private let profiles: ProfilesFile
    private let tokenDays: Int

    public init(_ reader: SettingsReader) {
        profiles = ProfilesFile(reader)
        tokenDays = reader.number(
            "TOKEN_DAYS", TokenIssuer.longestLifetime, 1...TokenIssuer.longestLifetime,
            "days for which a new token of a device or a fleet is valid")
    }

    public func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = LifecyclePolicy(generations: try profiles.read())
        try await serve(configuration, policy: policy, logger: logger) { parts, table in
            let tokens = try await TokenIssuer.open(
                parts.pool, issuer: Self.name, days: tokenDays, logger: parts.logger)
            let listed = ListedStreams(
                commands: parts.commands, store: OrderStreamStore(pool: parts.pool), clock: parts.clock,
                logger: parts.logger)
            LifecycleRoutes(
                commands: parts.commands, tail: parts.tail, tokens: tokens, clock: parts.clock, policy: policy,
                terminations: EventHistory(pool: parts.pool, partitions: configuration.partitions),
                metrics: parts.metrics, listed: listed
            ).add(to: &table)
            return [listed, tokens]
        }
    }
}

/// A fleet token gives access to the devices of its fleet.
extension LifecycleMachine: FleetMember {
    public var fleet: String? { registration?.fleet }
}
