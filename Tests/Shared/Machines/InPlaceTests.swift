import Contracts
import MachineTesting
import Machines
import Testing
import Timeline

@Suite struct InPlaceTests {
    private let start = Instant(milliseconds: 1_000_000)
    private let origin = Origin(id: DecisionIdentifiers.derived("input"))

    /// Decides commands in place.
    ///
    /// - Returns: their events.
    private func decide(_ commands: [Counter.Command], _ aggregate: inout Aggregate<Counter>) throws -> [Event] {
        var slots = SlotAllocator(ceiling: nil)
        var events: [Event] = []
        for command in commands {
            try aggregate.decideInPlace(.command(command), origin, at: start, policy: (), slots: &slots) {
                #expect($1.emitted === $0)
                events.append($1)
            }
        }
        return events
    }

    @Test func `a decision in place has the events and the state of an ordinary decision`() throws {
        var ordinary = Aggregate<Counter>(key: .device("a"))
        var inPlace = ordinary
        var slots = SlotAllocator(ceiling: nil)
        for command in [Counter.Command.add(2), .ring(after: .seconds(5)), .nothing] {
            let expected = try ordinary.decide(.command(command), origin, at: start, policy: (), slots: &slots).sealed
            #expect(try decide([command], &inPlace) == expected)
        }
        let due = try #require(inPlace.nextDeadline)
        var rung: [Event] = []
        try inPlace.fireDeadlineInPlace(due, policy: (), slots: &slots) { rung.append($1) }
        #expect(try ordinary.fireDeadline(due, policy: (), slots: &slots).sealed == rung)
        #expect(inPlace.state == ordinary.state)
        #expect(inPlace.nextDeadline == nil)
        #expect(inPlace.eventCount == ordinary.eventCount && inPlace.now == ordinary.now)
    }

    @Test func `a decision in place changes no copy of the aggregate`() throws {
        var aggregate = Aggregate<Counter>(key: .device("a"))
        _ = try decide([.add(1)], &aggregate)
        let copy = aggregate
        _ = try decide([.add(1)], &aggregate)
        #expect((copy.state.total, aggregate.state.total) == (1, 2))
    }

    @Test func `a refusal in place changes nothing`() throws {
        var aggregate = Aggregate<Counter>(key: .device("a"))
        _ = try decide([.add(1)], &aggregate)
        #expect(throws: Counter.Refusal()) { try decide([.addIfPinged(1)], &aggregate) }
        #expect(aggregate.state.total == 1 && aggregate.eventCount == 1)
    }

    @Test func `a command that is refused after an event changes nothing`() throws {
        var aggregate = Aggregate<Counter>(key: .device("a"))
        _ = try decide([.add(1)], &aggregate)
        #expect(throws: Counter.Refusal()) { try decide([.addThenRefuse], &aggregate) }
        #expect(aggregate.state.total == 1 && aggregate.eventCount == 1)
    }
}
