public import Contracts
public import Machines
public import Records
public import Timeline

/// A machine for tests of the runtimes: it counts, remembers the other side's pings one by one, and rings when it was told to.
public struct Counter: Machine, Equatable {
    public enum Command: Sendable {
        case add(Int)
        case ring(after: Interval)
        /// Emits events, then refuses.
        case addThenRefuse
        /// Refused while no ping was counted.
        case addIfPinged(Int)
        case nothing
    }

    public typealias Policy = Void
    public struct Refusal: MachineRefusal, Equatable {
        public var unreadable: ContractError?
        public init(unreadable: ContractError? = nil) { self.unreadable = unreadable }
    }

    public static let version = 1
    public static let follows: Set<String> = ["other.thing.pinged"]

    public var total = 0
    public var pings = 0
    public var rings = 0
    public var ringAt: Instant?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("total", &total)
        fields.field("pings", &pings)
        fields.field("rings", &rings)
        fields.field("ringAt", &ringAt)
    }

    public var nextDeadline: Instant? { ringAt }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<Counter>) throws(Refusal) {
        switch input {
        case .command(.add(let amount)): decision.emit(.added(Added(amount: amount, mark: decision.identifier())))
        case .command(.ring(let interval)): decision.emit(.set(RingSet(at: decision.now + interval)))
        case .command(.addThenRefuse):
            decision.emit(.added(Added(amount: 1, mark: "")))
            throw Refusal()
        case .command(.addIfPinged(let amount)):
            guard decision.state.pings > 0 else { throw Refusal() }
            decision.emit(.added(Added(amount: amount, mark: decision.identifier())))
        case .command(.nothing): break
        case .event(let event): decision.emit(.pinged(PingCounted(event: event.id.lowercased)))
        case .deadline(let due): decision.emit(.rang(Rang(due: due)))
        }
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) {
        switch event {
        case .added(let added): total += added.amount
        case .set(let set): ringAt = set.at
        case .rang:
            rings += 1
            ringAt = nil
        case .pinged: pings += 1
        case .noted(let noted): ringAt = ringAt.map { $0 + (noted.until - noted.from) }
        }
    }
}

public struct Added: EventData {
    public static let type = "counter.number.added"
    public static let summary = "A number was added."
    public var amount = 0
    public var mark = ""
    public init() {}
    init(amount: Int, mark: String) {
        self.amount = amount
        self.mark = mark
    }
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("amount", &amount)
        fields.field("mark", &mark)
    }
}

public struct RingSet: EventData {
    public static let type = "counter.ring.set"
    public static let summary = "A moment to ring was set."
    public var at = Instant.epoch
    public init() {}
    init(at: Instant) { self.at = at }
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("at", &at) }
}

public struct Rang: EventData {
    public static let type = "counter.ring.rung"
    public static let summary = "The moment came."
    public var due = Instant.epoch
    public init() {}
    init(due: Instant) { self.due = due }
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("due", &due) }
}

public struct PingCounted: EventData {
    public static let type = "counter.ping.counted"
    public static let summary = "The other side's ping was counted."
    public var event = ""
    public init() {}
    init(event: String) { self.event = event }
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("event", &event) }
}

/// What a ``Punctual`` counter alone emits.
public struct OutageCounted: EventData {
    public static let type = "counter.outage.counted"
    public static let summary = "The ring was put off by the length of an outage."
    public var from = Instant.epoch
    public var until = Instant.epoch
    public init() {}
    public init(from: Instant, until: Instant) {
        self.from = from
        self.until = until
    }
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("from", &from)
        fields.field("until", &until)
    }
}

public enum CounterEvent: EventFamily {
    case added(Added)
    case set(RingSet)
    case rang(Rang)
    case pinged(PingCounted)
    case noted(OutageCounted)

    public static let source = "counter"
    public static let catalogue: [EventKind<CounterEvent>] = [
        EventKind(CounterEvent.added), EventKind(CounterEvent.set), EventKind(CounterEvent.rang),
        EventKind(CounterEvent.pinged), EventKind(CounterEvent.noted),
    ]
    public var data: any EventData {
        switch self {
        case .added(let data): data
        case .set(let data): data
        case .rang(let data): data
        case .pinged(let data): data
        case .noted(let data): data
        }
    }
}
