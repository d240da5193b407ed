public import Contracts
public import Reports
public import Scenarios
public import Timeline

/// The outcome of a scenario.
public struct SimulationReport: Sendable {
    /// The name of the scenario.
    public let name: String
    public let seed: UInt64
    public let devices: Int
    public let begin: Instant
    /// The first instant that was not simulated.
    public let until: Instant
    /// Whether the whole scenario was simulated.
    public let isComplete: Bool
    /// Why the simulation or run ended early, as a sentence.
    public let endReason: String?
    public let events: Int
    /// The SHA-256 of the events in their binary form, by partition; empty for the log of a suite.
    public let digest: String
    /// The rules that were violated; empty without checks.
    public let violations: [Violation]
    /// The expectations of the scenario, with the measured values.
    public let expectations: [ExpectationOutcome]
    /// The kinds of faults in the scenario that had no effect.
    public internal(set) var ignoredFaults: [String]

    /// The disputed rules for which the simulation followed the source documents.
    public let documentedRules: [DisputedRule]

    /// A simulation, or a run in a suite.
    public internal(set) var origin = ReportOrigin.simulation

    let figures: Figures
    let apps: [String]
    /// The time zone of most devices, with its offsets in the simulated time.
    let timeZone: String
    let offsets: [ReportOffset]
    let lateAfter: Interval

    init(
        _ plan: ScenarioPlan, until: Instant, endReason: String?, events: Int, digest: String, _ figures: Figures,
        violations: [Violation], _ generations: Generations
    ) {
        documentedRules = DisputedRule.allCases.filter { generations[$0] == .document }
        let scenario = plan.scenario
        name = scenario.name
        seed = plan.seed
        devices = scenario.devices.count
        begin = plan.begin
        self.until = until
        isComplete = until == plan.end && endReason == nil
        self.endReason = endReason
        self.events = events
        self.digest = digest
        self.violations = violations
        self.figures = figures
        apps = scenario.apps.map(\.id)
        lateAfter = scenario.lateAfter.interval
        let zone = plan.providerZone.name
        timeZone = zone
        offsets = [ReportOffset](from: plan.begin, until: until) { plan.offset(of: zone, at: $0) }
        expectations = scenario.expect.map { ExpectationOutcome($0, scenario, figures) }
        ignoredFaults = scenario.faults.contains { $0.kill != nil } ? ["kill"] : []
    }

    /// Whether the scenario was complete, no rule was violated and all expectations are met.
    public var isGood: Bool { isComplete && violations.isEmpty && expectations.allSatisfy(\.isMet) }

    /// The events of a device on a day.
    public var eventsPerDeviceAndDay: Double {
        let days = (until - begin).seconds / Interval.days(1).seconds
        return days > 0 && devices > 0 ? Double(events) / Double(devices) / days : 0
    }
}

/// An expectation with the measured values.
public struct ExpectationOutcome: Sendable {
    public let expectation: Expectation
    /// The number of cases that hold.
    public let holds: Int
    /// The number of all cases.
    public let all: Int
    public let isMet: Bool
    /// A sentence with the measured values.
    public let text: String
}
