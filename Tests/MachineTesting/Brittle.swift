import Contracts
public import Machines
import Records
import Synchronization
public import Timeline

/// Switches the faults of a ``Brittle`` machine on and off while it runs.
public final class Faults: Sendable {
    private let broken: Mutex<Bool>

    public init(isBroken: Bool = true) { broken = Mutex(isBroken) }

    public var isBroken: Bool { broken.withLock { $0 } }
    public func mend() { broken.withLock { $0 = false } }
    public func breakAgain() { broken.withLock { $0 = true } }
}

/// A counter that fails on certain pings while its faults are on. It shares the counter's events and schema.
///
/// A ping with `trap` or a negative number ends the process. A ping with `loop` is never decided, and a ping with
/// `heavy` makes the state too large. Pings with `malformed` or `newer` are unreadable. A deadline changes nothing.
///
/// It always refuses pings that say `unwelcome`.
public struct Brittle: Machine, Equatable {
    public typealias Command = Counter.Command
    public typealias OwnEvent = CounterEvent
    public typealias Refusal = Counter.Refusal
    public typealias Policy = Faults

    public static let version = 1
    public static let follows = Counter.follows

    public var counter = Counter()
    public var lastPing = ""

    public var nextDeadline: Instant? { counter.nextDeadline }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<Brittle>) throws(Refusal) {
        switch input {
        case .command(.add(let amount)):
            if decision.policy.isBroken, amount < 0 { preconditionFailure("the command ends the process") }
            decision.emit(.added(Added(amount: amount, mark: decision.identifier())))
        case .command(.ring(let interval)): decision.emit(.set(RingSet(at: decision.now + interval)))
        case .command(.addThenRefuse), .command(.addIfPinged): throw Refusal()
        case .command(.nothing): break
        case .deadline(let due):
            if !decision.policy.isBroken { decision.emit(.rang(Rang(due: due))) }
        case .event(let event):
            let data = String(decoding: event.data, as: UTF8.self)
            if decision.policy.isBroken, data.contains("trap") { preconditionFailure("the event ends the process") }
            while decision.policy.isBroken, data.contains("loop") {}
            if decision.policy.isBroken, data.contains("malformed") {
                throw .unreadableEvent(.malformed(type: event.type, DocumentError([])))
            }
            if decision.policy.isBroken, data.contains("newer") {
                throw .unreadableEvent(.newerVersion(type: event.type, version: 2, known: 1))
            }
            if data.contains("unwelcome") { throw Refusal() }
            let isHeavy = decision.policy.isBroken && data.contains("heavy")
            decision.emit(
                .pinged(PingCounted(event: isHeavy ? String(repeating: "x", count: 70_000) : event.id.lowercased)))
        }
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) {
        counter.apply(event, at: time)
        if case .pinged(let ping) = event { lastPing = ping.event }
    }
}
