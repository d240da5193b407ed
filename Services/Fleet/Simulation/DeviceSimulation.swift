import DequeModule
import Contracts
import FetchCore
import Foundation
import HeapModule
import LifecycleCore
import Machines
import PushCore
import Scenarios
import Timeline
import TransferCore

/// One device of a scenario: its machines, its apps, the person who carries it, and the work that is due.
///
/// At equal times the order is: deadlines of the machines, the person and the surroundings, pushes, other work.
struct DeviceSimulation {
    let device: PlannedDevice
    let key: AggregateKey
    var lifecycle: SimulatedMachine<LifecycleMachine>
    var fetch: SimulatedMachine<FetchMachine>
    var push: SimulatedMachine<PushMachine>
    var transfer: SimulatedMachine<TransferMachine>
    var apps: [SimulatedApp]
    var now: Instant
    var profile: Profile
    /// The network of the person's plan, without faults.
    var plannedNetwork: NetworkText
    /// The faults that last.
    var activeFaults: Set<Int> = []
    let faults: [PlannedFault]
    /// The pushes that are sent but have not arrived.
    var awaited: [String: AwaitedPush] = [:]
    /// The wakes for tasks whose handlers never return.
    var hangingTasks: Set<String> = []
    /// The number of submitted continued processing tasks.
    var continuedTasks = 0
    /// The number of the person's uses of apps.
    var uses = 0
    /// The network that carries the bytes of transfers.
    var movingNetwork = Network()
    /// The times at which tasks in progress were created.
    var transferStarts: [TaskKey: Instant] = [:]
    var isConnecting = false
    var check: DeviceCheck?
    var trails = PushTrails()

    var timeline: DeviceTimeline.Iterator
    var nextEvent: DeviceEvent?
    /// The number of events of the timeline before ``nextEvent``.
    var passedEvents = 0
    let pushes: [PlannedPush]
    var nextPush = 0
    var works = Heap<Scheduled<Work>>()
    var scheduled = 0
    private var queue = EventQueue()
    var commands = 0
    var draws = 0

    init(_ index: Int, _ plan: ScenarioPlan, _ policies: Policies, checks: Bool) {
        let timeline = plan.timeline(of: index)
        device = timeline.device
        key = .device(device.name)
        lifecycle = SimulatedMachine(key, checks: checks) { .lifecycle($0) }
        fetch = SimulatedMachine(key, checks: checks) { .fetch($0) }
        push = SimulatedMachine(key, checks: checks) { .push($0) }
        transfer = SimulatedMachine(key, checks: checks) { .transfer($0) }
        apps = plan.scenario.apps.map {
            SimulatedApp(stateSince: plan.begin, started: Array(repeating: 0, count: $0.transfers.count))
        }
        now = plan.begin
        profile = policies.lifecycle[device.profile]
        plannedNetwork = timeline.initial.network
        faults = plan.faults(of: index)
        pushes = plan.pushes(to: index)
        check = checks ? DeviceCheck() : nil
        self.timeline = timeline.makeIterator()
        nextEvent = self.timeline.next()
    }

    /// The time of the next step; nil if nothing happens any more.
    var nextStep: Instant? {
        var next = lifecycle.nextDeadline
        func take(_ moment: Instant?) {
            if let moment, moment < next ?? .distant { next = moment }
        }
        take(fetch.nextDeadline)
        take(push.nextDeadline)
        take(transfer.nextDeadline)
        take(nextEvent?.at)
        take(nextPush < pushes.count ? pushes[nextPush].at : nil)
        take(works.min?.at)
        return next
    }

    /// Takes the next step and hands its events to all machines that follow them.
    mutating func step(_ context: inout PartitionContext) throws {
        guard let moment = nextStep else { return }
        now = max(now, moment)
        try fireDeadlines(&context)
        if queue.isEmpty { try act(&context) }
        try drain(&context)
    }

    private mutating func act(_ context: inout PartitionContext) throws {
        if let event = nextEvent, event.at <= now {
            nextEvent = timeline.next()
            passedEvents += 1
            try perform(event.action, &context)
        } else if nextPush < pushes.count, pushes[nextPush].at <= now {
            nextPush += 1
            try send(pushes[nextPush - 1], &context)
        } else if let work = works.min, work.at <= now {
            works.removeMin()
            guard work.run == nil || work.run == work.app.map({ apps[$0].run }) else { return }
            try perform(work, &context)
        }
    }

    private mutating func fireDeadlines(_ context: inout PartitionContext) throws {
        let policies = context.policies
        try lifecycle.fireDeadlines(until: now, policies.lifecycle, &context.noSlots, into: &queue)
        try fetch.fireDeadlines(until: now, policies.fetch, &context.fetchSlots, into: &queue)
        try push.fireDeadlines(until: now, policies.push, &context.noSlots, into: &queue)
        try transfer.fireDeadlines(until: now, policies.transfer, &context.noSlots, into: &queue)
    }

    /// Hands all events to the log, the statistics, the machines in a fixed order, and the device itself.
    private mutating func drain(_ context: inout PartitionContext) throws {
        while let (event, own) = queue.popFirst() {
            context.log.append(event)
            if check != nil { try examine(event, own, &context) }
            let source = own.number
            if context.follows.lifecycle[source] {
                try lifecycle.deliver(event, context.policies.lifecycle, &context.noSlots, into: &queue)
            }
            if context.follows.fetch[source] {
                try fetch.deliver(event, context.policies.fetch, &context.fetchSlots, into: &queue)
            }
            if context.follows.push[source] {
                try push.deliver(event, context.policies.push, &context.noSlots, into: &queue)
            }
            if context.follows.transfer[source] {
                try transfer.deliver(event, context.policies.transfer, &context.noSlots, into: &queue)
            }
            trails.note(event, own)
            let app = event.app.flatMap { context.appIndexes[$0] }
            observe(own, app, at: event.time, &context)
            react(to: own, app, &context)
        }
    }

    // MARK: Commands

    /// Submits a command to `lifecycle`.
    ///
    /// - Returns: whether it was accepted. A refusal is counted.
    @discardableResult
    mutating func submit(_ command: LifecycleCommand, _ context: inout PartitionContext) throws -> Bool {
        let id = inputID(context)
        do {
            try lifecycle.submit(
                command, id, at: now, context.policies.lifecycle, &context.noSlots, into: &queue)
            return true
        } catch let refusal as LifecycleRefusal { return refuse(refusal, &context) }
    }

    @discardableResult
    mutating func submit(_ command: FetchCommand, _ context: inout PartitionContext) throws -> Bool {
        let id = inputID(context)
        do {
            try fetch.submit(command, id, at: now, context.policies.fetch, &context.fetchSlots, into: &queue)
            return true
        } catch let refusal as FetchRefusal { return refuse(refusal, &context) }
    }

    /// Submits a command to `push`.
    ///
    /// - Returns: the code of the refusal; nil if it was accepted.
    @discardableResult
    mutating func submit(_ command: PushCommand, _ context: inout PartitionContext) throws -> String? {
        let id = inputID(context)
        do {
            try push.submit(command, id, at: now, context.policies.push, &context.noSlots, into: &queue)
            return nil
        } catch let refusal as PushRefusal {
            if case .receive(let sent) = command, let status = refusal.pushStatus {
                try push.submit(
                    .refuse(sent, status), inputID(context), at: now, context.policies.push, &context.noSlots,
                    into: &queue)
            }
            _ = refuse(refusal, &context)
            return refusal.code
        }
    }

    @discardableResult
    mutating func submit(_ command: TransferCommand, _ context: inout PartitionContext) throws -> Bool {
        let id = inputID(context)
        do {
            try transfer.submit(
                command, id, at: now, context.policies.transfer, &context.noSlots, into: &queue)
            return true
        } catch let refusal as TransferRefusal { return refuse(refusal, &context) }
    }

    /// Hands the events of the last command on, before the device uses the new state.
    mutating func settle(_ context: inout PartitionContext) throws { try drain(&context) }

    private mutating func inputID(_ context: PartitionContext) -> UUID {
        commands += 1
        return DecisionIdentifiers.derived("simulation", context.seedText, key.description, String(commands))
    }

    private func refuse(_ refusal: some MachineRefusal, _ context: inout PartitionContext) -> Bool {
        context.figures.refusedCalls[refusal.code, default: 0] += 1
        return false
    }

    // MARK: Work

    /// Schedules work of the device; of the current process of an app if `app` is given.
    mutating func schedule(_ kind: Work, of app: Int? = nil, after delay: Interval) {
        scheduled += 1
        works.insert(
            Scheduled(at: now + delay, number: scheduled, app: app, run: app.map { apps[$0].run }, kind: kind))
    }

    /// Returns new random numbers.
    mutating func draw(_ purpose: RandomPurpose, _ context: PartitionContext) -> SeededRandom {
        draws += 1
        return context.plan.random(purpose, device: device.index, number: draws)
    }
}

extension Instant {
    /// Later than every instant of a scenario.
    static let distant = Instant(milliseconds: .max)
}
