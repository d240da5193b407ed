public import Contracts
import HeapModule
import Records
public import OrderedCollections
public import Timeline

/// Runs one kind of machine in memory, by the same rules as the durable runtime: deadlines before inputs, refusals fail one
/// input alone, every event in one log.
public struct InMemoryRuntime<M: Machine>: Sendable {
    public private(set) var aggregates: OrderedDictionary<AggregateKey, Aggregate<M>> = [:]
    /// All events in order; the offsets are dense from 1, as in a log of one partition.
    public private(set) var log: [Event] = []
    private let policy: M.Policy
    private var inputs = 0
    private let seed: String
    /// What the aggregates hold, by partition.
    private var moments: [MomentLedger]
    /// The deadlines of aggregates, by their places among them; some are no longer true.
    private var deadlines = Heap<Due>()

    private struct Due: Comparable {
        var at: Instant
        var index: Int

        static func < (a: Due, b: Due) -> Bool { (a.at, a.index) < (b.at, b.index) }
    }

    /// - Parameters:
    ///   - seed: input ids derive from it and from their number.
    ///   - partitions: over so many the aggregates share out what there is under the machine's ceiling. The log is one.
    public init(policy: M.Policy, seed: String = "", partitions: Int = 1) {
        self.policy = policy
        self.seed = seed
        moments = (0..<partitions).map {
            MomentLedger(ceiling: M.ceiling(policy), partition: $0, partitions: partitions)
        }
    }

    /// The state of an aggregate; the base state where nothing happened to it yet.
    public func state(_ key: AggregateKey) -> M { aggregates[key]?.state ?? M() }

    /// Submits a command at a moment.
    ///
    /// - Returns: the events of deadlines that came due first, then the command's own.
    @discardableResult
    public mutating func submit(_ command: M.Command, to key: AggregateKey, at moment: Instant) throws -> [Event] {
        inputs += 1
        let origin = Origin(id: DecisionIdentifiers.derived(seed, "command", String(inputs)))
        return try run(.command(command), origin, key, at: moment)
    }

    /// Delivers another service's event.
    @discardableResult
    public mutating func deliver(_ event: Event) throws -> [Event] {
        guard M.follows.contains(event.type) else { return [] }
        return try run(.event(event), Origin(following: event), event.key, at: event.time)
    }

    /// The earliest deadline of all aggregates.
    public var nextDeadline: Instant? { aggregates.values.compactMap(\.nextDeadline).min() }

    /// Lets time pass: fires every deadline up to a moment, the earliest first, and of equals in the order of their aggregates.
    @discardableResult
    public mutating func advance(to moment: Instant) throws -> [Event] {
        var fired: [Event] = []
        while let due = deadlines.min, due.at <= moment {
            deadlines.removeMin()
            var aggregate = aggregates.values[due.index]
            guard aggregate.nextDeadline == due.at else { continue }
            let partition = aggregate.key.partition(of: moments.count)
            fired += append(
                try aggregate.fireDeadlines(until: due.at, policy: policy, moments: &moments[partition]))
            keep(aggregate)
        }
        return fired
    }

    /// Lets time pass in which nobody reached the machine: no deadline fires while it lasts, and every aggregate is told of it
    /// at its end.
    @discardableResult
    public mutating func pass(_ outage: Outage) throws -> [Event] {
        var events = try advance(to: outage.from)
        for key in aggregates.keys {
            guard var aggregate = aggregates[key] else { continue }
            let partition = key.partition(of: moments.count)
            events += append(aggregate.note(outage, policy: policy, moments: &moments[partition]))
            keep(aggregate)
        }
        return events
    }

    private mutating func run(
        _ input: Input<M.Command>, _ origin: Origin, _ key: AggregateKey, at moment: Instant
    ) throws -> [Event] {
        var aggregate = aggregates[key] ?? Aggregate(key: key)
        let partition = key.partition(of: moments.count)
        let fired = append(
            try aggregate.fireDeadlines(
                until: max(moment, aggregate.now), policy: policy, moments: &moments[partition]))
        keep(aggregate)
        let decided = append(
            try aggregate.decide(input, origin, at: moment, policy: policy, moments: &moments[partition]).sealed)
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
    /// - Returns: the keys whose state is not the fold of their events; empty when all is well.
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
