public import Contracts
public import Foundation
public import Records
public import Scenarios
public import Timeline

/// Simulates all devices of a scenario in this process, without network, database or real time.
///
/// The same scenario, seed and version give the same log, byte for byte, on every machine and with any number of threads.
public struct SimulationRun: Sendable {
    /// The progress of a simulation.
    public struct Progress: Sendable {
        /// The simulated time since the beginning.
        public let simulated: Interval
        /// The duration of the scenario.
        public let duration: Interval
        public let devices: Int
        /// The events so far.
        public let events: Int
    }

    private let shared: SharedPlan
    private let threads: Int
    private let checks: Bool
    private let mostStepsAtOnce: Int

    /// The part of the simulated time after which the logs of all partitions are merged.
    private static let part = Interval.minutes(10)
    /// The simulated time between two snapshots: a multiple of ``part``.
    private static let snapshotInterval = Interval.days(1)

    /// - Parameters:
    ///   - seed: replaces the seed of the scenario.
    ///   - threads: the number of partitions that run at once.
    ///   - checks: whether all invariants are checked.
    ///   - mostStepsAtOnce: a device that takes so many steps at one instant ends the simulation, because its time stands
    ///     still.
    ///   - generations: the features and limits of the generations, and the readings of disputed rules.
    public init(
        _ scenario: Scenario, seed: UInt64? = nil, threads: Int = 1, checks: Bool = false,
        mostStepsAtOnce: Int = 100_000, generations: Generations = .standard
    ) {
        shared = SharedPlan(ScenarioPlan(scenario, seed: seed), generations)
        self.threads = max(1, threads)
        self.checks = checks
        self.mostStepsAtOnce = mostStepsAtOnce
    }

    /// Returns the reasons why a simulation can't run a scenario that `fleet run` can.
    public static func faults(of scenario: Scenario) -> [FieldError] {
        guard scenario.provider == .external else { return [] }
        return [FieldError(pointer: "/provider", detail: "must be a list of sends in a simulation")]
    }

    /// Runs to the end of the scenario, until the task is cancelled, or until a device cannot go on. The report of a
    /// simulation that ends early says why.
    ///
    /// - Parameters:
    ///   - log: gets all events as lines of CloudEvents JSON; with `resume`, only those after the snapshot.
    ///   - snapshots: the file that gets a snapshot after each simulated day, and when the task is cancelled.
    ///   - resume: a snapshot of the same scenario and seed, from which the simulation continues. The report and its hash
    ///     are then those of the whole simulated time.
    ///   - tell: gets the progress after each ten simulated minutes.
    /// - Throws: ``SnapshotError``, and errors of the files.
    /// - Returns: the report of the simulated time.
    public func run(
        log: FileHandle? = nil, snapshots: URL? = nil, resume: URL? = nil,
        _ tell: @Sendable (Progress) -> Void = { _ in }
    ) async throws -> SimulationReport {
        let plan = shared.plan
        var merger = LogMerger(to: log)
        var partitions: [Partition] = []
        for (number, devices) in shared.devices().enumerated() {
            partitions.append(
                Partition(
                    number, of: shared, devices: devices, lines: log != nil, checks: checks,
                    mostStepsAtOnce: mostStepsAtOnce))
        }
        var now = plan.begin
        if let resume { now = try await restore(partitions, from: resume) }
        var merging: [PartitionLog] = []
        var failure: DeviceFailure?
        while now < plan.end, failure == nil, !Task.isCancelled {
            let end = min(plan.end, now + Self.part)
            now = end
            // The logs of the last part are merged while the partitions run the next one.
            async let next = run(partitions, before: end)
            try merger.append(merging)
            merging = await next
            failure = await firstFailure(of: partitions)
            tell(
                Progress(
                    simulated: end - plan.begin, duration: plan.end - plan.begin, devices: plan.scenario.devices.count,
                    events: merger.events))
            let isDay = ((end - plan.begin).milliseconds).isMultiple(of: Self.snapshotInterval.milliseconds)
            guard let snapshots, isDay || Task.isCancelled, end < plan.end, failure == nil else { continue }
            try merger.append(merging)
            merging = []
            try await SnapshotFile.write(
                SnapshotHead(plan, shared.policies.generations, until: end), partitions, to: snapshots)
        }
        // A snapshot can be of the whole range, and then no part is left.
        if merging.isEmpty, merger.events == 0 {
            for partition in partitions { merging.append(await partition.log) }
        }
        try merger.append(merging)
        var figures = shared.context(of: 0).figures
        var violations: [Violation] = []
        for partition in partitions {
            let outcome = await partition.finish(at: now)
            figures.add(outcome.figures)
            violations += outcome.violations
        }
        let interruption = now < plan.end ? "It was interrupted." : nil
        return SimulationReport(
            plan, until: now, endReason: failure.map(\.description) ?? interruption, events: merger.events,
            digest: merger.digest, figures, violations: violations,
            shared.policies.generations)
    }

    /// Restores all partitions from a snapshot.
    ///
    /// - Returns: the first instant that was not simulated.
    private func restore(_ partitions: [Partition], from file: URL) async throws -> Instant {
        let (until, stored) = try SnapshotFile.read(file, of: shared.plan, shared.policies.generations)
        guard stored.count == partitions.count, until >= shared.plan.begin, until <= shared.plan.end else {
            throw SnapshotError.malformed
        }
        for (partition, stored) in zip(partitions, stored) { try await partition.restore(stored) }
        return until
    }

    /// Runs all partitions, at most ``threads`` at once.
    private func run(_ partitions: [Partition], before end: Instant) async -> [PartitionLog] {
        await withTaskGroup(of: PartitionLog.self) { group in
            var rest = partitions[...]
            for partition in rest.prefix(threads) { group.addTask { await partition.run(before: end) } }
            rest = rest.dropFirst(threads)
            var logs: [PartitionLog] = []
            while let log = await group.next() {
                logs.append(log)
                if let partition = rest.popFirst() { group.addTask { await partition.run(before: end) } }
            }
            return logs.sorted { $0.partition < $1.partition }
        }
    }

    /// Returns the failure with the earliest instant, the same with any number of threads.
    private func firstFailure(of partitions: [Partition]) async -> DeviceFailure? {
        var first: DeviceFailure?
        for partition in partitions {
            guard let failure = await partition.failure else { continue }
            if first.map({ failure.at < $0.at }) ?? true { first = failure }
        }
        return first
    }
}
