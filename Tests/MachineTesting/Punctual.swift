import Contracts
public import Machines
public import Records
public import Timeline

/// A counter whose rings are limits of a device, so outages delay them. It shares the counter's events, schema and
/// stored form.
public struct Punctual: Machine, Equatable {
    public typealias Command = Counter.Command
    public typealias OwnEvent = CounterEvent
    public typealias Refusal = Counter.Refusal
    public typealias Policy = Void

    public static let version = Counter.version
    public static let follows = Counter.follows
    public static let ownsLimits = true

    public var counter: Flattened<Counter> = Counter()

    public var nextDeadline: Instant? { counter.nextDeadline }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<Punctual>) throws(Refusal) {
        switch input {
        case .command(.add(let amount)): decision.emit(.added(Added(amount: amount, mark: decision.identifier())))
        case .command(.ring(let interval)): decision.emit(.set(RingSet(at: decision.now + interval)))
        case .command(.addThenRefuse), .command(.addIfPinged): throw Refusal()
        case .command(.nothing): break
        case .event(let event): decision.emit(.pinged(PingCounted(event: event.id.lowercased)))
        case .deadline(let due): decision.emit(.rang(Rang(due: due)))
        }
    }

    public static func note(_ outage: Outage, _ decision: inout Decision<Punctual>) {
        guard decision.state.counter.ringAt != nil else { return }
        decision.emit(.noted(OutageCounted(from: outage.from, until: outage.until)))
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) { counter.apply(event, at: time) }
}
