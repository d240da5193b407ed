import Contracts
import Foundation
import Machines
import Records
import MachineTesting
import Testing
import Timeline

@Suite(.ownThread) struct InMemoryRuntimeTests {
    private let key = AggregateKey.device("a")
    private let start = Instant(milliseconds: 1_000_000)

    private func ping(_ text: String, at time: Instant) -> Event {
        let id = DecisionIdentifiers.derived(text)
        return Event(
            id: id, source: "other", type: "other.thing.pinged", version: 1, key: key, app: nil, time: time,
            correlation: id, causation: nil, traceparent: nil, data: Array("{}".utf8))
    }

    @Test func `a deadline fires before a later input, as of its due time`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        try runtime.submit(.ring(after: .seconds(5)), to: key, at: start)
        let events = try runtime.submit(.add(1), to: key, at: start + .seconds(60))
        #expect(events.map(\.type) == [Rang.type, Added.type])
        #expect(events.map(\.time) == [start + .seconds(5), start + .seconds(60)])
    }

    @Test func `deadlines up to the aggregate's own time fire before an input with an older time`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        try runtime.submit(.ring(after: .seconds(0)), to: key, at: start)
        let events = try runtime.deliver(ping("late", at: start - .seconds(10)))
        #expect(events.map(\.type) == [Rang.type, PingCounted.type])
    }

    @Test func `the time of an aggregate never goes back`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        try runtime.submit(.add(1), to: key, at: start)
        let late = try runtime.submit(.add(1), to: key, at: start - .seconds(10))
        #expect(late.map(\.time) == [start])
    }

    @Test func `a refusal discards its events and fails only its own input`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        #expect(throws: Counter.Refusal.self) { try runtime.submit(.addThenRefuse, to: key, at: start) }
        #expect(runtime.log.isEmpty)
        try runtime.submit(.add(2), to: key, at: start)
        #expect(runtime.state(key).total == 2)
    }

    @Test func `an event of another service is the cause of the resulting events`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        let cause = ping("one", at: start)
        let events = try runtime.deliver(cause)
        #expect(events.map(\.causation) == [cause.id])
        #expect(events.map(\.correlation) == [cause.correlation])
    }

    @Test func `the first event of a command gives all its events their correlation id`() throws {
        var runtime = InMemoryRuntime<Counter>(policy: ())
        let first = try runtime.submit(.add(1), to: key, at: start)
        let second = try runtime.submit(.add(1), to: key, at: start)
        for events in [first, second] { #expect(Set(events.map(\.correlation)) == Set(events.prefix(1).map(\.id))) }
        #expect(first.first?.correlation != second.first?.correlation)
    }

    @Test func `machines that follow the same event create different ids`() throws {
        var counter = InMemoryRuntime<Counter>(policy: ())
        var echo = InMemoryRuntime<Echo>(policy: ())
        let cause = ping("one", at: start)
        let ids = (try counter.deliver(cause) + echo.deliver(cause)).map(\.id)
        #expect(ids.count == 2 && Set(ids).count == 2)
    }

    @Test func `a deadline that changes nothing is an error, not a loop`() {
        var aggregate = Aggregate<Stuck>(key: key)
        var slots = SlotAllocator(ceiling: nil)
        #expect(throws: StuckDeadline.self) { try aggregate.fireDeadlines(until: start, policy: (), slots: &slots) }
    }

    @Test func `a state is the fold of its events`() throws {
        var runtime = try run(seed: 7)
        #expect(try runtime.foldCheck().isEmpty)
        try runtime.advance(to: start + .days(30))
        #expect(try runtime.foldCheck().isEmpty)
        #expect(runtime.log.map(\.offset) == Array(1...runtime.log.count))
    }

    @Test func `the same inputs give the same bytes`() throws {
        let bytes = try (0..<2).map { _ in try run(seed: 42).log.flatMap(\.cloudEvent) }
        #expect(bytes[0] == bytes[1])
        #expect(try run(seed: 43).log.flatMap(\.cloudEvent) != bytes[0])
        // The digest is the same in every process, although Swift seeds its hashing newly in each.
        #expect(DecisionIdentifiers.derived(String(decoding: bytes[0], as: UTF8.self)).lowercased == Self.digest)
    }

    private static let digest = "2f77b55f-3843-e068-e5bd-b4a628a45d29"

    private func run(seed: UInt64) throws -> InMemoryRuntime<Counter> {
        var random = Numbers(seed: seed)
        var runtime = InMemoryRuntime<Counter>(policy: (), seed: String(seed))
        var now = start
        for step in 0..<2000 {
            now = now + .milliseconds(Int64(random.next() % 5000))
            let key = AggregateKey.device(String(random.next() % 17))
            switch random.next() % 4 {
            case 0: try runtime.submit(.add(Int(random.next() % 100)), to: key, at: now)
            case 1: try runtime.submit(.ring(after: .milliseconds(Int64(random.next() % 9000))), to: key, at: now)
            case 2: try runtime.deliver(ping("\(seed)-\(step)", at: now))
            default: try runtime.advance(to: now)
            }
        }
        return runtime
    }
}

/// A linear congruential sequence (Knuth's MMIX constants), high bits.
private struct Numbers {
    var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}

/// A machine whose deadline stays due.
struct Stuck: Machine {
    typealias Policy = Void
    typealias Refusal = Counter.Refusal
    typealias OwnEvent = CounterEvent
    static let version = 1
    static let follows: Set<String> = []
    var nextDeadline: Instant? { .epoch }
    static func decide(_ input: Input<Int>, _ decision: inout Decision<Stuck>) throws(Refusal) {}
    mutating func apply(_ event: CounterEvent, at time: Instant) {}
}

/// Follows the same events as the counter, like another service.
struct Echo: Machine {
    typealias Policy = Void
    typealias Refusal = Counter.Refusal
    typealias OwnEvent = EchoEvent
    static let version = 1
    static let follows = Counter.follows
    var nextDeadline: Instant? { nil }
    static func decide(_ input: Input<Int>, _ decision: inout Decision<Echo>) throws(Refusal) {
        decision.emit(.pinged(PingCounted(event: "")))
    }
    mutating func apply(_ event: EchoEvent, at time: Instant) {}
}

enum EchoEvent: EventFamily {
    case pinged(PingCounted)

    static let source = "echo"
    static let catalogue: [EventKind<EchoEvent>] = [EventKind(EchoEvent.pinged)]
    var data: any EventData {
        switch self {
        case .pinged(let data): data
        }
    }
}
