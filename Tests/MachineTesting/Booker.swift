import Contracts
public import Machines
public import Records
public import Timeline

/// A counter that rings under a rate limit: each ring reserves the first free time slot from the requested time on. It
/// shares the counter's events and schema.
public struct Booker: Machine, Equatable {
    public enum Command: Sendable {
        case book(from: Instant)
        /// Releases the reserved slot.
        case cancel
        /// Reserves a slot, then refuses.
        case bookThenRefuse(from: Instant)
    }

    public typealias OwnEvent = CounterEvent
    public typealias Refusal = Counter.Refusal
    /// The wakes per second.
    public typealias Policy = Int

    public static let version = Counter.version
    public static let follows: Set<String> = []

    public var counter: Flattened<Counter> = Counter()
    /// The limit of the reservations.
    var ceiling: Int?

    public var nextDeadline: Instant? { counter.nextDeadline }
    public static func ceiling(_ policy: Int) -> Int? { policy }
    public var reservedSlots: [ReservedSlot] { counter.ringAt.map { [ReservedSlot(at: $0, ceiling: ceiling)] } ?? [] }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<Booker>) throws(Refusal) {
        if let ceiling = decision.slots.ceiling, ceiling != decision.state.ceiling {
            decision.emit(.added(Added(amount: ceiling, mark: "")))
        }
        switch input {
        case .command(.book(let moment)): decision.emit(.set(RingSet(at: decision.slots.first(from: moment))))
        case .command(.bookThenRefuse(let moment)):
            decision.emit(.set(RingSet(at: decision.slots.first(from: moment))))
            throw Refusal()
        case .command(.cancel): decision.emit(.rang(Rang(due: decision.now)))
        case .deadline(let due): decision.emit(.rang(Rang(due: due)))
        case .event: break
        }
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) {
        if case .added(let added) = event { ceiling = added.amount }
        counter.apply(event, at: time)
    }
}
