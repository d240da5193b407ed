import EventLog
public import FetchCore
public import Logging
import Machines
public import ServiceKit
import Timeline

/// The service `fetch`, assembled from its parts.
public struct Fetch: DurableService {
    public typealias Rules = FetchMachine
    /// The default port.
    public static let port = 8082
    private let settings: FetchPolicy
    private let profiles: ProfilesFile

    public init(_ reader: SettingsReader) {
        settings = FetchPolicy(reader)
        profiles = ProfilesFile(reader)
    }

    public func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        var policy = settings
        policy.generations = try profiles.read()
        try await serve(configuration, policy: policy, logger: logger) { parts, table in
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
    /// Reads the settings. Their defaults are those of ``FetchPolicy``.
    init(_ reader: SettingsReader) {
        let zones = TimeZones()
        self.init { zone, moment in zones.offset(zone, at: moment) }
        floor = reader.seconds(
            "FETCH_FLOOR_SECONDS", floor, from: 1, "minimum interval between two refreshes of an app, in seconds")
        slot = reader.seconds(
            "FETCH_SLOT_SECONDS", slot, from: 1, "length of a slot in seconds; an app has at most one refresh in a slot"
        )
        jitter = reader.seconds(
            "FETCH_JITTER_SECONDS", jitter, from: 0,
            "seconds at the start of a slot, over which the refreshes of devices spread")
        let wakes = reader.number(
            "FETCH_WAKES_PER_SECOND", ceiling ?? 0, 0...1000,
            "maximum wakes a second of the whole suite, the same for all replicas; 0 is no limit"
        )
        ceiling = wakes > 0 ? wakes : nil
        deviceSpacing = reader.seconds(
            "FETCH_DEVICE_SPACING_SECONDS", deviceSpacing, from: 0, "minimum seconds between two wakes of a device")
        appBudget.millijoules = reader.thousands(
            "FETCH_APP_ENERGY_JOULES", appBudget.millijoules, to: 1_000_000,
            "energy budget of an app per day, in joules")
        deviceBudget.millijoules = reader.thousands(
            "FETCH_DEVICE_ENERGY_JOULES", deviceBudget.millijoules, to: 1_000_000,
            "energy budget of a device per day, in joules")
        appBudget.bytes = reader.thousands(
            "FETCH_APP_DATA_KILOBYTES", appBudget.bytes, to: 1_000_000_000,
            "data budget of an app per day, in kilobytes")
        deviceBudget.bytes = reader.thousands(
            "FETCH_DEVICE_DATA_KILOBYTES", deviceBudget.bytes, to: 1_000_000_000,
            "data budget of a device per day, in kilobytes")
        usageWeight = reader.number(
            "FETCH_WEIGHT_USAGE", usageWeight, 0...1000, "weight of the learned usage in the score of a slot")
        networkWeight = reader.number(
            "FETCH_WEIGHT_NETWORK", networkWeight, 0...1000, "weight of the network in the score of a slot")
        deviceActivityWeight = reader.number(
            "FETCH_WEIGHT_ACTIVITY", deviceActivityWeight, 0...1000,
            "weight of the device's activity in the score of a slot; an unused device scores most")
        threshold = reader.number(
            "FETCH_THRESHOLD", threshold, 0...1000,
            "score that a slot must reach at first, in thousandths; this threshold falls to 0")
        thresholdDecayIntervals = Int64(
            reader.number(
                "FETCH_THRESHOLD_DECAY_INTERVALS", Int(thresholdDecayIntervals), 1...96,
                "number of intervals of the app in which FETCH_THRESHOLD falls to 0"))
        delayCost = reader.number(
            "FETCH_DELAY_COST", delayCost, 0...1000,
            "thousandths that the score of a slot loses for each interval of waiting")
    }
}

extension SettingsReader {
    /// Reads at most a day in seconds.
    fileprivate func seconds(
        _ name: String, _ standard: Interval, from least: Int, _ summary: String
    ) -> Interval {
        .seconds(Int64(number(name, Int(standard.seconds), least...86_400, summary)))
    }

    /// Reads a number of thousands.
    fileprivate func thousands(
        _ name: String, _ standard: Int, to most: Int, _ summary: String
    ) -> Int {
        number(name, standard / 1000, 0...most, summary) * 1000
    }
}
