public import Contracts
public import Machines
public import Records
public import Timeline

/// A machine for tests of the runtimes. It counts additions and pings of another service, and rings at a requested
/// time.
public struct Counter: Machine, Equatable {
    public enum Command: Sendable {
        case add(Int)
        case ring(after: Interval)
        /// Emits events, then refuses.
        case addThenRefuse
        /// Refused before the first ping.
        case addIfPinged(Int)
        case nothing
    }

    public typealias Policy = Void
    public struct Refusal: MachineRefusal {
        public let reason: RefusalReason
        public init(_ reason: RefusalReason) { self.reason = reason }
        public init() { self.init(.conflict, "refused", "Counter refuses", "The counter refuses.") }
    }

    public static let version = 1
    public static let follows: Set<String> = ["other.thing.pinged"]
    /// The data of an event that the counter can't read, and of one that it refuses.
    public static let unreadable = Array(#"{"unreadable":true}"#.utf8)
    public static let refused = Array(#"{"refused":true}"#.utf8)

    public var total = 0
    public var pings = 0
    public var rings = 0
    public var ringAt: Nullable<Instant> = nil

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
        case .event(let event):
            if event.data == Self.unreadable { throw .unreadableEvent(.malformed(type: event.type, DocumentError([]))) }
            if event.data == Self.refused { throw Refusal() }
            decision.emit(.pinged(PingCounted(event: event.id.lowercased)))
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

/// A number was added.
public struct Added: EventData {
    public static let type = "counter.number.added"
    public var amount: Int
    public var mark: String
}

/// A time to ring was set.
public struct RingSet: EventData {
    public static let type = "counter.ring.set"
    public var at: Instant
}

/// The counter rang.
public struct Rang: EventData {
    public static let type = "counter.ring.rung"
    public var due: Instant
}

/// A ping of another service was counted.
public struct PingCounted: EventData {
    public static let type = "counter.ping.counted"
    public var event: String
}

/// An outage delayed the ring by its length. Only a ``Punctual`` counter emits it.
public struct OutageCounted: EventData {
    public static let type = "counter.outage.counted"
    public var from: Instant
    public var until: Instant
}

public enum CounterEvent: EventFamily {
    case added(Added)
    case set(RingSet)
    case rang(Rang)
    case pinged(PingCounted)
    case noted(OutageCounted)

    public static let source = "counter"
}
