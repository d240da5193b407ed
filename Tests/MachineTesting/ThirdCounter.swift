import Contracts
public import Machines
import Records
public import Timeline

/// The release after ``NextCounter``: its state also has the largest addition. It can write the forms of both earlier
/// releases.
public struct ThirdCounter: Machine, Equatable {
    public typealias Command = Counter.Command
    public typealias OwnEvent = CounterEvent
    public typealias Refusal = Counter.Refusal
    public typealias Policy = Void

    public static let version = 3
    public static let follows = Counter.follows

    public var next = NextCounter()
    public var largest = 0

    public var nextDeadline: Instant? { next.nextDeadline }

    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<ThirdCounter>? {
        guard let stored = NextCounter.stored(binary, version: version) else { return nil }
        var third = ThirdCounter()
        third.next = stored.state
        return .partial(third)
    }

    public func downgraded(to version: Int) -> OlderForm? {
        guard version == NextCounter.version else { return next.downgraded(to: version) }
        return OlderForm(binary: next.binary, nextDeadline: next.nextDeadline)
    }

    public static func decide(_ input: Input<Command>, _ decision: inout Decision<ThirdCounter>) throws(Refusal) {
        try decision.count(input)
    }

    public mutating func apply(_ event: CounterEvent, at time: Instant) {
        next.apply(event, at: time)
        if case .added(let added) = event { largest = max(largest, added.amount) }
    }
}
