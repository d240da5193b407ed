import Contracts
import Foundation
import Machines
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The decisions of one batch in memory.
@Suite struct BatchTests {
    private let key = AggregateKey.device("a")
    private let start = Instant(milliseconds: 1_000_000)

    @Test func `deadlines up to the aggregate's own time fire before an event with an older time`() throws {
        var batch = try batchWithDueDeadline()
        _ = batch.run(ping(at: start - .seconds(10)))
        #expect(batch.events.map(\.type) == [Rang.type, PingCounted.type])
    }

    @Test func `deadlines up to the aggregate's own time fire before a command with an older time`() throws {
        var batch = try batchWithDueDeadline()
        batch.run(.add(1, to: "a"), at: start - .seconds(10), stored: [:])
        #expect(batch.events.map(\.type) == [Rang.type, Added.type])
    }

    @Test func `a command fires no deadline while owners die`() throws {
        var batch = try batchWithDueDeadline()
        batch.isDoubtful = true
        batch.run(.add(1, to: "a"), at: start, stored: [:])
        guard case .refused(let error) = try #require(batch.verdicts.first) else {
            Issue.record("the command fired the deadline")
            return
        }
        #expect(error as? RuntimeError == .overloaded)
        // An aggregate without a deadline accepts the command.
        batch.run(.add(1, to: "b"), at: start, stored: [:])
        #expect(batch.events.map(\.type) == [Added.type])
    }

    @Test func `each answer has the offset of its own last event`() throws {
        var batch = Batch<Counter>()
        for device in ["a", "b", "a"] { batch.run(.add(1, to: device), at: start, stored: [:]) }
        let places = batch.verdicts.map { verdict in
            if case .answer(_, let events) = verdict { events } else { 0 }
        }
        #expect(places == [1, 2, 3])
        #expect(batch.probe?.index == 0 && batch.probe?.id == batch.events.first?.id)
    }

    private func batchWithDueDeadline() throws -> Batch<Counter> {
        var aggregate = Aggregate<Counter>(key: key)
        var slots = SlotAllocator(ceiling: nil)
        _ = try aggregate.decide(
            .command(.ring(after: .zero)), Origin(id: UUID()), at: start, policy: (), slots: &slots)
        return Batch<Counter>([key: aggregate])
    }

    private func ping(at time: Instant) -> Event {
        let id = UUID()
        return Event(
            id: id, source: "other", type: "other.thing.pinged", version: 1, key: key, app: nil, time: time,
            correlation: id, causation: nil, traceparent: nil, data: Array("{}".utf8))
    }
}

extension Batch where M.Policy == Void {
    /// Returns a batch of partition 0 with enough time, even on a slow machine.
    init(_ aggregates: [AggregateKey: Aggregate<M>] = [:]) {
        self.init(partition: 0, policy: (), aggregates: aggregates, plan: .seconds(3600))
    }
}
