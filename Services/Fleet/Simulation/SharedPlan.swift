import Contracts
import FetchCore
import Machines
import PushCore
import Reports
import Scenarios
import Timeline

/// A scenario with the limits of the machines, for all partitions.
struct SharedPlan: Sendable {
    /// The number of partitions. It decides the log, so it is the same for any number of threads.
    static let partitions = 64

    let plan: ScenarioPlan
    let policies: Policies
    private let payloads: [JSONPayload]

    init(_ plan: ScenarioPlan, _ generations: Generations) {
        self.plan = plan
        let offset: @Sendable (String, Instant) -> Int = { zone, moment in
            Int(plan.offset(of: zone, at: moment).milliseconds / 1000)
        }
        let push = PushPolicy(partitions: Self.partitions, timeZoneOffset: offset)
        policies = Policies(fetch: FetchPolicy(timeZoneOffset: offset), push: push, generations: generations)
        payloads = plan.scenario.provider.sends.map { JSONPayload(document: $0.document) }
    }

    /// - Parameter lines: whether the log has the events as text.
    func context(of partition: Int, lines: Bool = false) -> PartitionContext {
        let apps = plan.scenario.apps
        return PartitionContext(
            plan: plan, policies: policies, payloads: payloads, seedText: String(plan.seed),
            appIndexes: Dictionary(uniqueKeysWithValues: apps.enumerated().map { ($1.id, $0) }),
            fetchSlots: SlotAllocator(
                ceiling: FetchMachine.ceiling(policies.fetch), partition: partition, partitions: Self.partitions),
            log: PartitionLog(partition: partition, lines: lines),
            figures: Figures(
                apps: Array(repeating: AppFigures(), count: apps.count),
                states: StateTimes(from: plan.begin, until: plan.end)))
    }

    /// Returns the indexes of the devices of each partition.
    func devices() -> [[Int]] {
        var devices: [[Int]] = Array(repeating: [], count: Self.partitions)
        for index in 0..<plan.scenario.devices.count {
            let key = AggregateKey.device(plan.device(index).name)
            devices[key.partition(of: Self.partitions)].append(index)
        }
        return devices
    }
}
