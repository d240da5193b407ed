import Contracts
import FetchCore
import HeapModule
import RandomScenarios
import Machines
import Records
import TestSupport
import Timeline

/// Devices of `fetch` in memory, in the form that its workers hold, with a `lifecycle` that grants every wake.
struct FetchFleet: Sendable {
    private let policy: FetchPolicy
    private var devices: [Aggregate<FetchMachine>] = []
    /// The devices of a partition.
    private var allocators: [SlotAllocator]
    private var ahead = Heap<Happening>()
    private(set) var now: Instant

    private(set) var storedBytes = 0
    private(set) var decisions = 0
    private(set) var events = 0
    private(set) var refreshes = 0
    private(set) var processorSeconds = 0.0

    var count: Int { devices.count }

    private struct Happening: Comparable {
        enum Kind: Int {
            case deadline, woken, completed
        }

        var at: Instant
        var kind: Kind
        var device: Int
        var app: String?
        var fetch: String?

        /// A worker runs deadlines before inputs.
        static func < (one: Happening, other: Happening) -> Bool {
            (one.at, one.kind.rawValue, one.device) < (other.at, other.kind.rawValue, other.device)
        }
    }

    init(policy: FetchPolicy, partitions: Int, at now: Instant) {
        self.policy = policy
        self.now = now
        allocators = Self.allocators(policy, partitions)
    }

    static func allocators(_ policy: FetchPolicy, _ partitions: Int) -> [SlotAllocator] {
        (0..<partitions).map { SlotAllocator(ceiling: policy.ceiling, partition: $0, partitions: partitions) }
    }

    /// A copy of a device that gets a network, so that all its apps get time slots.
    static func online(
        _ model: Aggregate<FetchMachine>, _ name: String, _ policy: FetchPolicy, _ allocators: inout [SlotAllocator]
    ) throws -> Aggregate<FetchMachine> {
        let key = AggregateKey.device(name)
        var device = Aggregate(key: key, state: model.state, now: model.now, eventCount: model.eventCount)
        var conditions = Conditions()
        conditions.network = Network()
        let told = told(LifecycleEvent.ConditionsChanged(conditions: conditions), key, at: .monday)
        let partition = key.partition(of: allocators.count)
        _ = try device.decide(
            .event(told), Origin(following: told), at: told.time, policy: policy, slots: &allocators[partition])
        return device
    }

    mutating func reserve(_ count: Int) { devices.reserveCapacity(count) }

    mutating func add(_ key: AggregateKey, _ state: FetchMachine) {
        storedBytes += state.binary.count
        allocators[key.partition(of: allocators.count)].replace([], by: state.reservedSlots, at: .epoch)
        devices.append(Aggregate(key: key, state: state, now: now, eventCount: 1))
        expect(devices.count - 1)
    }

    private mutating func expect(_ device: Int) {
        guard let due = devices[device].nextDeadline else { return }
        ahead.insert(Happening(at: due, kind: .deadline, device: device))
    }

    /// Waits until this thread has used an amount of processor time.
    mutating func pass(processorSeconds limit: Double) throws {
        let begun = ThisProcess.threadSeconds
        repeat {
            for _ in 0..<100 {
                guard let next = ahead.popMin() else { return }
                try happen(next)
            }
            processorSeconds = ThisProcess.threadSeconds - begun
        } while processorSeconds < limit
    }

    private mutating func happen(_ next: Happening) throws {
        now = next.at
        let key = devices[next.device].key
        let partition = key.partition(of: allocators.count)
        switch next.kind {
        case .deadline:
            guard devices[next.device].nextDeadline == next.at else { return }
            let fired = try devices[next.device].fireDeadlines(
                until: next.at, policy: policy, slots: &allocators[partition])
            events += fired.count
            for event in fired where event.type == FetchEvent.RefreshDue.type {
                let due = try FetchEvent.RefreshDue(jsonBytes: event.data)
                refreshes += 1
                ahead.insert(
                    Happening(
                        at: now + .milliseconds(200), kind: .woken, device: next.device, app: due.app,
                        fetch: due.fetch))
            }
        case .woken:
            let wake = LifecycleEvent.AppWoken(
                app: next.app ?? "", callbacks: [], deadline: now + .seconds(Int64(30)), from: .suspended,
                limit: .seconds(Int64(30)), reason: .fetch, request: next.fetch, wake: "w")
            try hear(Self.told(wake, key, at: now), next.device, partition)
            var end = next
            end.at = now + .seconds(Int64(3))
            end.kind = .completed
            ahead.insert(end)
        case .completed:
            var completed = LifecycleEvent.WakeCompleted(
                app: next.app ?? "", reason: .fetch, request: next.fetch, result: .newData, wake: "w")
            completed.bytesReceived = 20_000
            try hear(Self.told(completed, key, at: now), next.device, partition)
        }
        decisions += 1
        expect(next.device)
    }

    private mutating func hear(_ told: Event, _ device: Int, _ partition: Int) throws {
        events += try devices[device].decide(
            .event(told), Origin(following: told), at: told.time, policy: policy, slots: &allocators[partition]
        ).sealed.count
    }

    private static func told(_ data: some EventData, _ key: AggregateKey, at time: Instant) -> Event {
        let id = DecisionIdentifiers.derived("told", key.description, String(time.milliseconds), data.app ?? "")
        return Event(
            id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: key,
            app: data.app, time: time, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes)
    }
}
