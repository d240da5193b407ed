import Contracts
public import Machines
import Records
public import Timeline

/// The next release of the counter: its state also has the number of additions. It shares the counter's events and
/// schema, so both releases can run side by side.
public struct NextCounter: Machine, Equatable {
    public typealias Command = Counter.Command
    public typealias OwnEvent = CounterEvent
    public typealias Refusal = Counter.Refusal
    public typealias Policy = Void

    public static let version = 2
    public static let follows = Counter.follows
    /// The form of the counter can't express totals from here on.
    public static let limit = 1_000_000

    public var counter = Counter()
    public var additions = 0

    public var nextDeadline: Instant? { counter.nextDeadline }

    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<NextCounter>? {
        guard version == 1, let counter = Counter(binary: binary) else { return nil }
        var next = NextCounter()
        next.counter = counter
        return .partial(next)
    }

    public func downgraded(to version: Int) -> OlderForm? {
        guard version == 1, counter.total < Self.limit else { return nil }
        return OlderForm(binary: counter.binary, nextDeadline: counter.nextDeadline)
    }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<NextCounter>) throws(Refusal) {
        try decision.count(input)
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) {
        counter.apply(event, at: time)
        if case .added = event { additions += 1 }
    }
}

extension Decision where M.OwnEvent == CounterEvent {
    /// Decides like ``Counter``, but for `addIfPinged`, which is refused.
    mutating func count(_ input: Input<Counter.Command>) throws(Counter.Refusal) {
        switch input {
        case .command(.add(let amount)): emit(.added(Added(amount: amount, mark: identifier())))
        case .command(.ring(let interval)): emit(.set(RingSet(at: now + interval)))
        case .command(.addThenRefuse), .command(.addIfPinged): throw Counter.Refusal()
        case .command(.nothing): break
        case .event(let event): emit(.pinged(PingCounted(event: event.id.lowercased)))
        case .deadline(let due): emit(.rang(Rang(due: due)))
        }
    }
}
