public import Contracts
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

    /// - Parameter seed: input ids derive from it and from their number.
    public init(policy: M.Policy, seed: String = "") {
        self.policy = policy
        self.seed = seed
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

    /// Lets time pass: fires every deadline up to a moment, the earliest first.
    @discardableResult
    public mutating func advance(to moment: Instant) throws -> [Event] {
        var fired: [Event] = []
        while let due = nextDeadline, due <= moment {
            for key in aggregates.keys where aggregates[key]?.nextDeadline == due {
                guard var aggregate = aggregates[key] else { continue }
                fired += append(try aggregate.fireDeadlines(until: due, policy: policy))
                aggregates[key] = aggregate
            }
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
            events += append(aggregate.note(outage, policy: policy))
            aggregates[key] = aggregate
        }
        return events
    }

    private mutating func run(
        _ input: Input<M.Command>, _ origin: Origin, _ key: AggregateKey, at moment: Instant
    ) throws -> [Event] {
        var aggregate = aggregates[key] ?? Aggregate(key: key)
        let fired = append(try aggregate.fireDeadlines(until: max(moment, aggregate.now), policy: policy))
        if aggregate.eventCount > 0 { aggregates[key] = aggregate }
        let decided = append(try aggregate.decide(input, origin, at: moment, policy: policy).sealed)
        if aggregate.eventCount > 0 { aggregates[key] = aggregate }
        return fired + decided
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
