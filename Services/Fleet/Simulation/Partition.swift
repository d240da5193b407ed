import Contracts
import HeapModule
import Machines
import Scenarios
import Timeline

/// The values that all devices of a partition share.
struct PartitionContext {
    let plan: ScenarioPlan
    let policies: Policies
    let payloads: [JSONPayload]
    let seedText: String
    let appIndexes: [String: Int]
    let follows = FollowedServices()
    var fetchSlots: SlotAllocator
    /// For machines without a ceiling.
    var noSlots = SlotAllocator(ceiling: nil)
    var log: PartitionLog
    var figures: Figures
    var violations: [Violation] = []
}

/// The devices of one partition, in the order of their next steps. It shares no ceiling with other partitions, so it can
/// run in any thread.
actor Partition {
    private var context: PartitionContext
    private var devices: [DeviceSimulation]
    private var order = Heap<Due>()
    private let checks: Bool
    private let mostStepsAtOnce: Int
    /// The steps of each device since its time last moved.
    private var stepsAtOnce: [Int]
    /// The first device that cannot go on. It takes no more steps.
    private(set) var failure: DeviceFailure?

    private struct Due: Comparable {
        var at: Instant
        var index: Int

        static func < (left: Due, right: Due) -> Bool { (left.at, left.index) < (right.at, right.index) }
    }

    /// - Parameter mostStepsAtOnce: the steps of a device at one instant from which on its time stands still.
    init(
        _ number: Int, of shared: SharedPlan, devices indexes: [Int], lines: Bool, checks: Bool, mostStepsAtOnce: Int
    ) {
        context = shared.context(of: number, lines: lines)
        self.checks = checks
        self.mostStepsAtOnce = mostStepsAtOnce
        stepsAtOnce = Array(repeating: 0, count: indexes.count)
        devices = indexes.map { DeviceSimulation($0, shared.plan, shared.policies, checks: checks) }
        for index in devices.indices {
            devices[index].schedule(.begin, after: .zero)
            order.insert(Due(at: shared.plan.begin, index: index))
        }
    }

    /// The log, without its last part if the caller has taken it.
    var log: PartitionLog { context.log }

    /// The partition for a snapshot, between two parts.
    var stored: StoredPartition {
        var due: [Instant?] = Array(repeating: nil, count: devices.count)
        for entry in order.unordered { due[entry.index] = entry.at }
        var stored = StoredPartition()
        stored.devices = zip(devices, due).map { $0.stored(due: $1) }
        context.store(in: &stored)
        return stored
    }

    /// Continues from a snapshot. The partition is new.
    func restore(_ stored: StoredPartition) throws(SnapshotError) {
        guard stored.devices.count == devices.count else { throw .malformed }
        try context.restore(stored)
        order = Heap()
        for (index, device) in stored.devices.enumerated() {
            try devices[index].restore(device, context.policies)
            if let due = device.due { order.insert(Due(at: due, index: index)) }
        }
    }

    /// Takes all steps before a time.
    ///
    /// - Returns: the log of these steps. The next call continues it.
    func run(before end: Instant) -> PartitionLog {
        while let due = order.min, due.at < end {
            do {
                try devices[due.index].step(&context)
                guard let next = devices[due.index].nextStep else {
                    order.removeMin()
                    continue
                }
                stepsAtOnce[due.index] = next > due.at ? 0 : stepsAtOnce[due.index] + 1
                guard stepsAtOnce[due.index] < mostStepsAtOnce else { throw EndlessSteps(count: mostStepsAtOnce) }
                order.replaceMin(with: Due(at: max(next, due.at), index: due.index))
            } catch {
                order.removeMin()
                if failure == nil {
                    failure = DeviceFailure(device: devices[due.index].device.name, at: due.at, error: error)
                }
            }
        }
        return context.log.taken()
    }

    /// Ends the statistics.
    func finish(at end: Instant) -> (figures: Figures, violations: [Violation]) {
        for index in devices.indices { devices[index].finish(at: end, &context) }
        if checks, !context.figures.apps.allSatisfy({ $0.contents.values.allSatisfy(\.isBalanced) }) {
            context.violations.append(
                Violation(device: "partition \(context.log.partition)", at: end, rule: .oneOutcome))
        }
        return (context.figures, context.violations)
    }
}

/// A device that cannot go on.
struct DeviceFailure: Sendable, CustomStringConvertible {
    var device: String
    var at: Instant
    var error: any Error

    var description: String { "\(device) cannot go on at \(at): \(error)." }
}

/// The time of a device stands still.
private struct EndlessSteps: Error, CustomStringConvertible {
    var count: Int

    var description: String { "its time stands still, after \(count) more steps at this instant" }
}
