import Records
import Contracts
import DequeModule
import FetchCore
import Foundation
import LifecycleCore
import Machines
import PushCore
import Timeline
import TransferCore

/// An event of one of the four machines, as the machine emitted it.
enum MachineEvent {
    case lifecycle(Emitted<LifecycleEvent>)
    case fetch(Emitted<FetchEvent>)
    case push(Emitted<PushEvent>)
    case transfer(Emitted<TransferEvent>)

    /// The services in the order of ``number``.
    static let sources = [LifecycleEvent.source, FetchEvent.source, PushEvent.source, TransferEvent.source]

    var number: Int {
        switch self {
        case .lifecycle: 0
        case .fetch: 1
        case .push: 2
        case .transfer: 3
        }
    }
}

/// The services whose events each machine follows. It saves most look-ups of types.
struct FollowedServices: Sendable {
    let lifecycle = Self.services(LifecycleMachine.self)
    let fetch = Self.services(FetchMachine.self)
    let push = Self.services(PushMachine.self)
    let transfer = Self.services(TransferMachine.self)

    /// Returns for each ``MachineEvent/number`` whether the machine follows an event of the service.
    private static func services<M: Machine>(_ machine: M.Type) -> [Bool] {
        MachineEvent.sources.map { source in M.follows.contains { $0.hasPrefix(source + ".") } }
    }
}

/// The emitted events of a device that no other machine has handled yet, in the order of emission.
typealias EventQueue = Deque<(sealed: Event, own: MachineEvent)>

/// One machine of a device.
struct SimulatedMachine<M: Machine> {
    var aggregate: Aggregate<M>
    /// The fold of the logged events, to compare with the state; nil without checks.
    var folded: Aggregate<M>?
    private let wrap: @Sendable (Emitted<M.OwnEvent>) -> MachineEvent

    init(_ key: AggregateKey, checks: Bool, _ wrap: @escaping @Sendable (Emitted<M.OwnEvent>) -> MachineEvent) {
        aggregate = Aggregate(key: key)
        folded = checks ? Aggregate(key: key) : nil
        self.wrap = wrap
    }

    /// The current state. An access to a part of it copies only this part.
    var state: M { _read { yield aggregate.state } }
    var nextDeadline: Instant? { aggregate.nextDeadline }

    /// Fires all deadlines up to a time.
    mutating func fireDeadlines(
        until now: Instant, _ policy: M.Policy, _ slots: inout SlotAllocator, into queue: inout EventQueue
    ) throws {
        let wrap = wrap
        while let due = aggregate.nextDeadline, due <= now {
            try aggregate.fireDeadlineInPlace(due, policy: policy, slots: &slots) { queue.append(($1, wrap($0))) }
        }
    }

    /// Decides a command after all deadlines up to its time.
    mutating func submit(
        _ command: M.Command, _ id: UUID, at now: Instant, _ policy: M.Policy, _ slots: inout SlotAllocator,
        into queue: inout EventQueue
    ) throws {
        try fireDeadlines(until: now, policy, &slots, into: &queue)
        let wrap = wrap
        try aggregate.decideInPlace(.command(command), Origin(id: id), at: now, policy: policy, slots: &slots) {
            queue.append(($1, wrap($0)))
        }
    }

    /// Decides an event of another machine after all deadlines up to its time. Ignores an event that the machine does
    /// not follow, and one that it refuses, as the durable runtime does.
    mutating func deliver(
        _ event: Event, _ policy: M.Policy, _ slots: inout SlotAllocator, into queue: inout EventQueue
    ) throws {
        guard M.follows.contains(event.type) else { return }
        try fireDeadlines(until: event.time, policy, &slots, into: &queue)
        let wrap = wrap
        do {
            try aggregate.decideInPlace(
                .event(event), Origin(following: event), at: event.time, policy: policy, slots: &slots
            ) { queue.append(($1, wrap($0))) }
        } catch let refusal as M.Refusal {
            if let unreadable = refusal.unreadable { throw unreadable }
        }
    }

    /// Adds a logged event to the fold.
    mutating func fold(_ event: Event) throws { try folded?.fold([event]) }

    /// Applies an event of a log to the state.
    ///
    /// - Throws: `ContractError` if the event has another form.
    mutating func replay(_ event: Event) throws -> MachineEvent {
        try aggregate.fold([event])
        return wrap(Emitted(try M.OwnEvent(type: event.type, version: event.version, data: event.data)))
    }

    /// Whether the state equals the fold of the logged events.
    var equalsFold: Bool { folded.map { $0.state.binary == aggregate.state.binary } ?? true }
}

/// The limits of the four machines.
struct Policies: Sendable {
    let generations: Generations
    let lifecycle: LifecyclePolicy
    private(set) var fetch: FetchPolicy
    private(set) var push: PushPolicy
    private(set) var transfer = TransferPolicy()

    /// - Parameter generations: the table of all machines.
    init(fetch: FetchPolicy, push: PushPolicy, generations: Generations) {
        self.fetch = fetch
        self.push = push
        self.generations = generations
        lifecycle = LifecyclePolicy(generations: generations)
        self.fetch.generations = generations
        self.push.generations = generations
        transfer.generations = generations
    }
}
