import Machines
import Records
import TestSupport
import Timeline

/// The counter's next release. Its state has another form, with an upgrade from the old one, and it understands newer
/// pings.
struct LaterCounter: Machine, Equatable {
    typealias Command = Counter.Command
    typealias OwnEvent = CounterEvent
    typealias Refusal = Counter.Refusal
    typealias Policy = Void

    static let version = 2
    static let follows = Counter.follows
    static let newestVersions = ["other.thing.pinged": 2]

    var counter = Counter()

    static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<LaterCounter>? {
        guard version == 1, let counter = Counter(binary: binary) else { return nil }
        var later = LaterCounter()
        later.counter = counter
        return .exact(later)
    }

    var nextDeadline: Instant? { counter.nextDeadline }

    static func decide(_ input: Input<Command>, _ decision: inout Decision<LaterCounter>) throws(Refusal) {
        switch input {
        case .command(.add(let amount)): decision.emit(.added(Added(amount: amount, mark: "")))
        case .event: decision.emit(.pinged(PingCounted(event: "")))
        case .command, .deadline: break
        }
    }

    mutating func apply(_ event: CounterEvent, at time: Instant) { counter.apply(event, at: time) }
}

/// Another next release of the counter. It needs the pings, which its upgrade can't take from the former form.
struct ForgetfulCounter: Machine, Equatable {
    typealias Command = Counter.Command
    typealias OwnEvent = CounterEvent
    typealias Refusal = Counter.Refusal
    typealias Policy = Void

    static let version = 2
    static let follows = Counter.follows

    var counter = Counter()

    static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<ForgetfulCounter>? {
        guard version == 1, let counter = Counter(binary: binary) else { return nil }
        var later = ForgetfulCounter()
        later.counter = counter
        later.counter.pings = 0
        return .partial(later)
    }

    var nextDeadline: Instant? { counter.nextDeadline }

    static func decide(
        _ input: Input<Command>, _ decision: inout Decision<ForgetfulCounter>
    ) throws(Refusal) {
        switch input {
        case .command(.add(let amount)): decision.emit(.added(Added(amount: amount, mark: "")))
        case .event: decision.emit(.pinged(PingCounted(event: "")))
        case .command, .deadline: break
        }
    }

    mutating func apply(_ event: CounterEvent, at time: Instant) { counter.apply(event, at: time) }
}
