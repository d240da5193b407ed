import EventLog
import FetchMachine
public import Logging
import Machines
public import ServiceKit
import Timeline

/// The service `fetch`, assembled from its parts.
public enum Fetch {
    /// The name of the service.
    public static let name = FetchMachine.name
    /// The default port.
    public static let port = 8082

    /// The settings that only this service has.
    public static let settings: [Setting] = [
        .number("FETCH_FLOOR_SECONDS", 900, 1...86_400, "shortest interval of an app, in seconds"),
        .number(
            "FETCH_SLOT_SECONDS", 900, 1...86_400, "length of a slot in seconds, with at most one refresh of an app"),
        .number("FETCH_JITTER_SECONDS", 300, 0...86_400, "seconds at the start of a slot over which devices spread"),
        .number(
            "FETCH_WAKES_PER_SECOND", 100, 0...1000, "most wakes per second of the whole suite; 0 for no limit"),
        .number("FETCH_DEVICE_SPACING_SECONDS", 300, 0...86_400, "least seconds between two wakes of a device"),
        .number("FETCH_APP_ENERGY_JOULES", 60, 0...1_000_000, "energy budget of an app per day, in joules"),
        .number("FETCH_DEVICE_ENERGY_JOULES", 600, 0...1_000_000, "energy budget of a device per day, in joules"),
        .number("FETCH_APP_DATA_KILOBYTES", 20_000, 0...1_000_000_000, "data budget of an app per day, in kilobytes"),
        .number(
            "FETCH_DEVICE_DATA_KILOBYTES", 200_000, 0...1_000_000_000,
            "data budget of a device per day, in kilobytes"),
        .number("FETCH_WEIGHT_USAGE", 600, 0...1000, "weight of the learned usage in a score"),
        .number("FETCH_WEIGHT_NETWORK", 250, 0...1000, "weight of the network in a score"),
        .number("FETCH_WEIGHT_ACTIVITY", 150, 0...1000, "weight of an unused device in a score"),
        .number("FETCH_THRESHOLD", 600, 0...1000, "initial threshold for the score of a slot, in thousandths"),
        .number("FETCH_THRESHOLD_DECAY_INTERVALS", 8, 1...96, "intervals of an app in which the threshold falls to 0"),
        .number(
            "FETCH_DELAY_COST", 60, 0...1000, "score that a slot loses for each interval of waiting, in thousandths"),
    ]

    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(FetchMachine.self, configuration, logger: logger)
    }

    /// Compares the database with this program and changes nothing.
    ///
    /// - Throws: An error of one line with the remedy if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(FetchMachine.self, configuration, logger: logger)
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: An error of one line with the remedy if the service can't start.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let policy = FetchPolicy(configuration)
        try await DurableService.serve(FetchMachine.self, configuration, policy: policy, logger: logger) {
            parts, table in
            FetchRoutes(
                commands: parts.commands,
                history: EventHistory(pool: parts.pool, partitions: configuration.partitions),
                waits: EventHistory(pool: parts.pool, partitions: configuration.partitions),
                runs: EventHistory(pool: parts.pool, partitions: configuration.partitions), clock: parts.clock,
                policy: policy
            ).add(to: &table)
            return []
        }
    }
}

extension FetchPolicy {
    init(_ configuration: ServiceConfiguration) {
        let zones = TimeZones()
        self.init { zone, moment in zones.offset(zone, at: moment) }
        if let seconds = configuration.number("FETCH_FLOOR_SECONDS") { floor = .seconds(Int64(seconds)) }
        if let seconds = configuration.number("FETCH_SLOT_SECONDS") { slot = .seconds(Int64(seconds)) }
        if let seconds = configuration.number("FETCH_JITTER_SECONDS") { jitter = .seconds(Int64(seconds)) }
        if let wakes = configuration.number("FETCH_WAKES_PER_SECOND") { ceiling = wakes > 0 ? Int(wakes) : nil }
        if let seconds = configuration.number("FETCH_DEVICE_SPACING_SECONDS") {
            deviceSpacing = .seconds(Int64(seconds))
        }
        if let joules = configuration.number("FETCH_APP_ENERGY_JOULES") { appBudget.millijoules = Int(joules) * 1000 }
        if let joules = configuration.number("FETCH_DEVICE_ENERGY_JOULES") {
            deviceBudget.millijoules = Int(joules) * 1000
        }
        if let weight = configuration.number("FETCH_WEIGHT_USAGE") { usageWeight = Int(weight) }
        if let weight = configuration.number("FETCH_WEIGHT_NETWORK") { networkWeight = Int(weight) }
        if let weight = configuration.number("FETCH_WEIGHT_ACTIVITY") { deviceActivityWeight = Int(weight) }
        if let score = configuration.number("FETCH_THRESHOLD") { threshold = Int(score) }
        if let intervals = configuration.number("FETCH_THRESHOLD_DECAY_INTERVALS") {
            thresholdDecayIntervals = Int64(intervals)
        }
        if let cost = configuration.number("FETCH_DELAY_COST") { delayCost = Int(cost) }
        if let size = configuration.number("FETCH_APP_DATA_KILOBYTES") { appBudget.bytes = Int(size) * 1000 }
        if let size = configuration.number("FETCH_DEVICE_DATA_KILOBYTES") { deviceBudget.bytes = Int(size) * 1000 }
    }
}
