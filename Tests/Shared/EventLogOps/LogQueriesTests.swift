import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing
import Timeline

@Suite("Questions to the log", .timeLimit(.minutes(5))) struct LogQueriesTests {
    @Test(arguments: EventOrder.allCases, [1, 10, 40])
    func pagesHaveEveryEventOnceAndInOrder(_ order: EventOrder, limit: Int) async throws {
        let bench = try await OpsBench()
        // Evenly, then for a long time in one partition only.
        for number in 0..<57 { try await bench.append(to: "d\(number % 9)") }
        for _ in 0..<90 { try await bench.append(to: "d0") }
        for number in 0..<20 { try await bench.append(to: "d\(number % 9)") }
        var place: LogVector?
        var all: [Event] = []
        while true {
            let page = try await bench.queries.page(EventFilter(), order, from: place, limit: limit)
            #expect(page.events.count <= limit)
            all += page.events
            place = page.next
            if page.isComplete { break }
        }
        #expect(all.count == 167 && Set(all.map(\.id)).count == 167)
        // They were appended one after the other, so even the order over partitions is known.
        let times = try await bench.sql("SELECT id FROM bus.events ORDER BY appended_at").map { try $0.uuid(0) }
        #expect(all.map(\.id) == (order == .oldest ? times : times.reversed()))
    }

    /// A page leads past all that is not wanted: what retention drops of it is no loss, and nobody looks at it twice.
    @Test func aPlaceGoesOnWhereNothingIsWanted() async throws {
        let bench = try await OpsBench()
        for number in 0..<30 { try await bench.append("x.one.done", to: "d\(number % 9)") }
        for _ in 0..<3 { try await bench.append("y.two.done", to: "d0") }
        var filter = EventFilter()
        filter.types = ["y.two.done"]
        let mine = AggregateKey.device("d0").partition(of: bench.queries.partitions)
        for (order, ends) in [(EventOrder.oldest, "head"), (.newest, "0::int8")] {
            let page = try await bench.queries.page(filter, order, limit: 1)
            #expect(page.events.count == 1 && !page.isComplete)
            for row in try await bench.sql("SELECT partition::int8, \(ends) FROM bus.partitions") {
                let (partition, end) = (try row.int(0), try row.int(1))
                if partition != mine { #expect(page.next[partition] == end) }
            }
        }
    }

    @Test func aFeedGoesOnWhereItWasWithWhatCameSince() async throws {
        let bench = try await OpsBench()
        try await bench.append(to: "a")
        let first = try await bench.queries.page(EventFilter(), .oldest, limit: 10)
        #expect(first.isComplete && first.events.count == 1)
        let late = try await bench.append(to: "b")
        #expect(
            try await bench.queries.page(EventFilter(), .oldest, from: first.next, limit: 10).events.map(\.id) == [late]
        )
        // Newest first, what comes later is not in the feed that was begun before.
        let newest = try await bench.queries.page(EventFilter(), .newest, limit: 1)
        try await bench.append(to: "c")
        let rest = try await bench.queries.page(EventFilter(), .newest, from: newest.next, limit: 10)
        #expect(rest.isComplete && rest.events.count == 1)
    }

    @Test func filtersJudgeInTheDatabaseAsInMemory() async throws {
        let bench = try await OpsBench()
        let root = UUID()
        for number in 0..<60 {
            try await bench.append(
                number % 2 == 0 ? "x.one.done" : "y.two.done", source: number % 3 == 0 ? "x" : "y",
                to: "d\(number % 4)",
                correlation: number % 5 == 0 ? root : nil, app: number % 4 == 0 ? nil : "app\(number % 2)",
                at: Instant(milliseconds: Int64(number * 1000)))
        }
        let all = try await bench.queries.page(EventFilter(), .oldest, limit: 1000).events
        let filters: [(inout EventFilter) -> Void] = [
            { $0.types = ["x.one.done", "z.z.z"] }, { $0.services = ["x"] }, { $0.key = .device("d2") },
            { $0.app = "app1" }, { $0.since = Instant(milliseconds: 30_000) },
            { $0.until = Instant(milliseconds: 30_000) }, { $0.correlation = root },
        ]
        // Each alone, and every pair.
        for first in filters {
            for second in filters {
                var filter = EventFilter()
                first(&filter)
                second(&filter)
                let found = try await bench.queries.page(filter, .oldest, limit: 1000)
                let wanted = all.filter(filter.wants)
                #expect(found.isComplete)
                #expect(Set(found.events.map(\.id)) == Set(wanted.map(\.id)))
            }
        }
    }

    @Test func aPlaceOfAnotherLogIsRefused() async throws {
        let bench = try await OpsBench()
        for place in [[0: 0], [0: 0, 1: 0, 2: 0, 3: 0], [0: -1, 1: 0, 2: 0]] {
            await #expect(throws: LogQueryError.foreignPlace) {
                try await bench.queries.page(EventFilter(), .oldest, from: place, limit: 10)
            }
        }
    }

    @Test func eventsAreFoundByIdAndPlaceAndCorrelation() async throws {
        let bench = try await OpsBench()
        let id = try await bench.append(to: "a")
        let effect = try await bench.append(to: "b", correlation: id, causation: id)
        let found = try #require(try await bench.queries.event(id: id))
        #expect(try await bench.queries.event(partition: found.partition, offset: found.offset) == found)
        #expect(try await bench.queries.event(id: UUID()) == nil)
        #expect(try await bench.queries.event(partition: 77, offset: 1) == nil)
        #expect(Set(try await bench.queries.events(ofCorrelation: id, limit: 10).map(\.id)) == [id, effect])
    }

    @Test func aChainLeadsBackToTheFirstCauseAndForwardToEveryEffect() {
        let ids = (0..<6).map { _ in UUID() }
        // 0 → 1 → 2 → 3, 1 → 4; 5 is a sibling of the first.
        let causes = [nil, ids[0], ids[1], ids[2], ids[1], nil]
        let events = zip(ids, causes).map { id, cause in
            Event(
                id: id, source: "x", type: "x.y.z", version: 1, key: .device("a"), app: nil, time: .epoch,
                correlation: ids[0], causation: cause, traceparent: nil, data: [])
        }
        let chain = CausalChain(of: events[1], among: events.reversed())
        #expect(chain.causes.map(\.id) == [ids[0]])
        #expect(Set(chain.effects.map(\.id)) == [ids[2], ids[3], ids[4]])
        #expect(chain.effects.last?.id == ids[3])
        #expect(CausalChain(of: events[3], among: events).causes.map(\.id) == Array(ids[0...2]))
    }

    @Test func causesAreFoundHoweverManyEventsTheirCorrelationHas() async throws {
        let bench = try await OpsBench()
        let root = UUID()
        var ids: [UUID] = []
        for number in 0..<5 {
            let time = Instant(milliseconds: 1_700_000_000_000) + .seconds(Int64(number))
            ids.append(
                try await bench.append(
                    to: "d\(number)", id: ids.isEmpty ? root : UUID(), correlation: root, causation: ids.last, at: time)
            )
        }
        let events = try await bench.queries.events(ofCorrelation: root, limit: 10)
        #expect(events.map(\.id) == ids)
        let last = try await bench.queries.chain(of: events[4], limit: 2)
        #expect(last.causes.map(\.id) == Array(ids[0...3]) && last.effects.isEmpty && last.isComplete)
        let first = try await bench.queries.chain(of: events[0], limit: 2)
        #expect(first.causes.isEmpty && first.effects.map(\.id) == [ids[1]] && !first.isComplete)
        let whole = try await bench.queries.chain(of: events[2], limit: 5)
        #expect(whole.causes.map(\.id) == Array(ids[0...1]) && whole.effects.map(\.id) == Array(ids[3...4]))
        #expect(whole.isComplete)
    }

    /// Drops the first event of each partition whenever it is asked.
    private struct DroppingOutline: LogOutline {
        let pool: ConnectionPool

        func stretches(
            of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
        ) async throws(PostgresError) -> [LogSpan] {
            _ = try await pool.run(
                Call(
                    Statement(
                        """
                        INSERT INTO bus.retention (partition, dropped_to)
                        SELECT partition, 1 FROM bus.partitions WHERE head > 0 ON CONFLICT DO NOTHING
                        """)))
            return spans
        }
    }

    @Test func whatIsDroppedWhileItIsReadIsNotPassedOver() async throws {
        let bench = try await OpsBench()
        for _ in 0..<3 { try await bench.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsBench.partitions)
        let queries = LogQueries(
            pool: bench.pool, partitions: OpsBench.partitions, outline: DroppingOutline(pool: bench.pool))
        var filter = EventFilter()
        filter.types = ["other.thing.pinged"]
        let start = Dictionary(uniqueKeysWithValues: (0..<OpsBench.partitions).map { ($0, 0) })
        await #expect(throws: LogQueryError.beyondRetention) {
            try await queries.page(filter, .oldest, from: start, limit: 10)
        }
        // Who names no place begins with what is there.
        _ = try await bench.pool.run(Call(Statement("DELETE FROM bus.retention")))
        let page = try await queries.page(filter, .oldest, limit: 10)
        #expect(page.events.first?.partition == partition && page.isComplete)
        #expect(page.next[partition] == 3)
    }

    @Test func aHoleInTheOffsetsIsFound() async throws {
        let bench = try await OpsBench()
        for _ in 0..<5 { try await bench.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsBench.partitions)
        #expect(try await bench.queries.checkDensity(of: partition).faults.isEmpty)
        _ = try await bench.sql("DELETE FROM bus.events WHERE log_offset = 3")
        let check = try await bench.queries.checkDensity(of: partition)
        #expect(check.faults == [1...5] && check.count == 4 && check.last == 5)
    }

    @Test func aConsumersLagIsWhatItHasNotRead() async throws {
        let bench = try await OpsBench()
        for _ in 0..<3 { try await bench.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsBench.partitions)
        let consumers = try await bench.queries.consumers()
        #expect(consumers.map(\.name) == ["counter"])
        let places = try #require(consumers.first?.places)
        #expect(places.map(\.lag) == (0..<OpsBench.partitions).map { $0 == partition ? 3 : 0 })
        #expect(places.map { $0.waitingSince != nil } == (0..<OpsBench.partitions).map { $0 == partition })
        #expect(places.allSatisfy { $0.owner == nil })
    }
}
