public import Contracts
import HeapModule
import Records
public import OrderedCollections
public import Timeline

/// Runs one kind of machine in memory, by the rules of the durable runtime. Deadlines fire before inputs, a refusal
/// fails only its own input, and all events are in one log.
public struct InMemoryRuntime<M: Machine>: Sendable {
    /// All aggregates, in the order of their first events.
    public private(set) var aggregates: OrderedDictionary<AggregateKey, Aggregate<M>> = [:]
    /// All events in order. The offsets are dense from 1, as in a log of one partition.
    public private(set) var log: [Event] = []
    package let policy: M.Policy
    private var inputs = 0
    private let seed: String
    /// The slot reservations, by partition.
    private var slots: [SlotAllocator]
    /// The deadlines, with the indexes of their aggregates. Some are outdated.
    private var deadlines = Heap<Due>()

    private struct Due: Comparable {
        var at: Instant
        var index: Int

        static func < (a: Due, b: Due) -> Bool { (a.at, a.index) < (b.at, b.index) }
    }

    /// Creates a runtime without aggregates.
    ///
    /// - Parameters:
    ///   - seed: the source of the input ids, together with the number of the input.
    ///   - partitions: the number of partitions that share the machine's ceiling. There is only one log.
    public init(policy: M.Policy, seed: String = "", partitions: Int = 1) {
        self.policy = policy
        self.seed = seed
        slots = (0..<partitions).map {
            SlotAllocator(ceiling: M.ceiling(policy), partition: $0, partitions: partitions)
        }
    }

    /// Returns the state of an aggregate; the initial state before its first event.
    public func state(_ key: AggregateKey) -> M { aggregates[key]?.state ?? M() }

    /// Submits a command at a time.
    ///
    /// - Returns: the events of earlier deadlines, then those of the command.
    @discardableResult
    public mutating func submit(_ command: M.Command, to key: AggregateKey, at moment: Instant) throws -> [Event] {
        inputs += 1
        let origin = Origin(id: DecisionIdentifiers.derived(seed, "command", String(inputs)))
        return try run(.command(command), origin, key, at: moment)
    }

    /// Delivers an event of another service.
    @discardableResult
    public mutating func deliver(_ event: Event) throws -> [Event] {
        guard M.follows.contains(event.type) else { return [] }
        return try run(.event(event), Origin(following: event), event.key, at: event.time)
    }

    /// The earliest deadline of all aggregates.
    public var nextDeadline: Instant? { aggregates.values.compactMap { $0.nextDeadline }.min() }

    /// Fires every deadline up to a time, the earliest first. Equal ones fire in the order of their aggregates.
    @discardableResult
    public mutating func advance(to moment: Instant) throws -> [Event] {
        var fired: [Event] = []
        while let due = deadlines.min, due.at <= moment {
            deadlines.removeMin()
            var aggregate = aggregates.values[due.index]
            guard aggregate.nextDeadline == due.at else { continue }
            let partition = aggregate.key.partition(of: slots.count)
            fired += append(
                try aggregate.fireDeadlines(until: due.at, policy: policy, slots: &slots[partition]))
            keep(aggregate)
        }
        return fired
    }

    /// Passes the time of an outage: no deadline fires during it, and every aggregate is notified at its end.
    @discardableResult
    public mutating func pass(_ outage: Outage) throws -> [Event] {
        var events = try advance(to: outage.from)
        for key in aggregates.keys {
            guard var aggregate = aggregates[key] else { continue }
            let partition = key.partition(of: slots.count)
            events += append(aggregate.note(outage, policy: policy, slots: &slots[partition]))
            keep(aggregate)
        }
        return events
    }

    private mutating func run(
        _ input: Input<M.Command>, _ origin: Origin, _ key: AggregateKey, at moment: Instant
    ) throws -> [Event] {
        var aggregate = aggregates[key] ?? Aggregate(key: key)
        let partition = key.partition(of: slots.count)
        let fired = append(
            try aggregate.fireDeadlines(
                until: max(moment, aggregate.now), policy: policy, slots: &slots[partition]))
        keep(aggregate)
        let decided = append(
            try aggregate.decide(input, origin, at: moment, policy: policy, slots: &slots[partition]).sealed)
        keep(aggregate)
        return fired + decided
    }

    private mutating func keep(_ aggregate: Aggregate<M>) {
        guard aggregate.eventCount > 0 else { return }
        aggregates[aggregate.key] = aggregate
        guard let due = aggregate.nextDeadline, let index = aggregates.index(forKey: aggregate.key) else { return }
        deadlines.insert(Due(at: due, index: index))
    }

    private mutating func append(_ events: [Event]) -> [Event] {
        let placed = events.enumerated().map { index, event in
            var event = event
            event.offset = log.count + index + 1
            return event
        }
        log += placed
        return placed
    }

    /// Compares every aggregate with the fold of its history.
    ///
    /// - Returns: the keys whose state differs from the fold of their events.
    public func foldCheck() throws(ContractError) -> [AggregateKey] {
        var histories: OrderedDictionary<AggregateKey, [Event]> = [:]
        for event in log { histories[event.key, default: []].append(event) }
        var wrong: [AggregateKey] = []
        for (key, aggregate) in aggregates {
            let folded = try Aggregate<M>(key: key, folding: histories[key] ?? [])
            if folded.state.binary != aggregate.state.binary { wrong.append(key) }
        }
        return wrong
    }
}
