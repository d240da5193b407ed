import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing
import Timeline

@Suite("Queries of the log", .tags(.database), .timeLimit(.minutes(5))) struct LogQueriesTests {
    @Test(arguments: EventOrder.allCases, [1, 10, 40])
    func `pages have every event once and in order`(_ order: EventOrder, limit: Int) async throws {
        let fixture = try await OpsFixture()
        // First evenly, then many in one partition.
        for number in 0..<57 { try await fixture.append(to: "d\(number % 9)") }
        for _ in 0..<90 { try await fixture.append(to: "d0") }
        for number in 0..<20 { try await fixture.append(to: "d\(number % 9)") }
        var position: PositionVector?
        var all: [Event] = []
        while true {
            let page = try await fixture.queries.page(EventFilter(), order, from: position, limit: limit)
            #expect(page.events.count <= limit)
            all += page.events
            position = page.next
            if page.isComplete { break }
        }
        #expect(all.count == 167 && Set(all.map(\.id)).count == 167)
        // The events were appended one after the other, so the order over partitions is known.
        let times = try await fixture.sql("SELECT id FROM bus.events ORDER BY appended_at").map {
            try $0.decode(UUID.self)
        }
        #expect(all.map(\.id) == (order == .oldest ? times : times.reversed()))
    }

    /// The next page skips events that do not match: it does not scan them again, and retention may drop them.
    @Test func `the position after a page skips events that do not match`() async throws {
        let fixture = try await OpsFixture()
        for number in 0..<30 { try await fixture.append("x.one.done", to: "d\(number % 9)") }
        for _ in 0..<3 { try await fixture.append("y.two.done", to: "d0") }
        var filter = EventFilter()
        filter.types = ["y.two.done"]
        let mine = AggregateKey.device("d0").partition(of: fixture.queries.partitions)
        for (order, ends) in [(EventOrder.oldest, "head"), (.newest, "0::int8")] {
            let page = try await fixture.queries.page(filter, order, limit: 1)
            #expect(page.events.count == 1 && !page.isComplete)
            let rows = try await fixture.sql("SELECT partition::int8, \(ends) FROM bus.partitions")
            for (partition, end) in try rows.decode((Int, Int).self) {
                if partition != mine { #expect(page.next[partition] == end) }
            }
        }
    }

    @Test func `a feed continues with events that were appended meanwhile`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.append(to: "a")
        let first = try await fixture.queries.page(EventFilter(), .oldest, limit: 10)
        #expect(first.isComplete && first.events.count == 1)
        let late = try await fixture.append(to: "b")
        #expect(
            try await fixture.queries.page(EventFilter(), .oldest, from: first.next, limit: 10).events.map(\.id) == [
                late
            ]
        )
        // Newest first, a feed has no events that are appended after its start.
        let newest = try await fixture.queries.page(EventFilter(), .newest, limit: 1)
        try await fixture.append(to: "c")
        let rest = try await fixture.queries.page(EventFilter(), .newest, from: newest.next, limit: 10)
        #expect(rest.isComplete && rest.events.count == 1)
    }

    @Test func `filters match the same events in the database and in memory`() async throws {
        let fixture = try await OpsFixture()
        let root = UUID()
        for number in 0..<60 {
            try await fixture.append(
                number % 2 == 0 ? "x.one.done" : "y.two.done", source: number % 3 == 0 ? "x" : "y",
                to: "d\(number % 4)",
                correlation: number % 5 == 0 ? root : nil, app: number % 4 == 0 ? nil : "app\(number % 2)",
                at: Instant(milliseconds: Int64(number * 1000)))
        }
        let all = try await fixture.queries.page(EventFilter(), .oldest, limit: 1000).events
        let filters: [(inout EventFilter) -> Void] = [
            { $0.types = ["x.one.done", "z.z.z"] }, { $0.services = ["x"] }, { $0.key = .device("d2") },
            { $0.app = "app1" }, { $0.since = Instant(milliseconds: 30_000) },
            { $0.until = Instant(milliseconds: 30_000) }, { $0.correlation = root },
        ]
        // Each filter alone, and every pair.
        for first in filters {
            for second in filters {
                var filter = EventFilter()
                first(&filter)
                second(&filter)
                let found = try await fixture.queries.page(filter, .oldest, limit: 1000)
                let wanted = all.filter(filter.wants)
                #expect(found.isComplete)
                #expect(Set(found.events.map(\.id)) == Set(wanted.map(\.id)))
            }
        }
    }

    @Test func `a position of another log is refused`() async throws {
        let fixture = try await OpsFixture()
        for position in [[0: 0], [0: 0, 1: 0, 2: 0, 3: 0], [0: -1, 1: 0, 2: 0]] {
            await #expect(throws: LogQueryError.foreignPosition) {
                try await fixture.queries.page(EventFilter(), .oldest, from: position, limit: 10)
            }
        }
    }

    @Test func `events are found by id, position and correlation id`() async throws {
        let fixture = try await OpsFixture()
        let id = try await fixture.append(to: "a")
        let effect = try await fixture.append(to: "b", correlation: id, causation: id)
        let found = try #require(try await fixture.queries.event(id: id))
        #expect(try await fixture.queries.event(partition: found.partition, offset: found.offset) == found)
        #expect(try await fixture.queries.event(id: UUID()) == nil)
        #expect(try await fixture.queries.event(partition: 77, offset: 1) == nil)
        #expect(Set(try await fixture.queries.events(ofCorrelation: id, limit: 10).map(\.id)) == [id, effect])
    }

    @Test func `a chain has all causes and all effects of an event`() {
        let ids = (0..<6).map { _ in UUID() }
        // 0 → 1 → 2 → 3, 1 → 4; 5 has no cause.
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

    @Test func `causes are complete beyond the limit of searched events`() async throws {
        let fixture = try await OpsFixture()
        let root = UUID()
        var ids: [UUID] = []
        for number in 0..<5 {
            let time = Instant(milliseconds: 1_700_000_000_000) + .seconds(Int64(number))
            ids.append(
                try await fixture.append(
                    to: "d\(number)", id: ids.isEmpty ? root : UUID(), correlation: root, causation: ids.last, at: time)
            )
        }
        let events = try await fixture.queries.events(ofCorrelation: root, limit: 10)
        #expect(events.map(\.id) == ids)
        let last = try await fixture.queries.chain(of: events[4], limit: 2)
        #expect(last.causes.map(\.id) == Array(ids[0...3]) && last.effects.isEmpty && last.isComplete)
        let first = try await fixture.queries.chain(of: events[0], limit: 2)
        #expect(first.causes.isEmpty && first.effects.map(\.id) == [ids[1]] && !first.isComplete)
        let whole = try await fixture.queries.chain(of: events[2], limit: 5)
        #expect(whole.causes.map(\.id) == Array(ids[0...1]) && whole.effects.map(\.id) == Array(ids[3...4]))
        #expect(whole.isComplete)
    }

    /// A skip index that drops the first event of each partition when it is read.
    private struct DroppingOutline: SkipIndex {
        let pool: ConnectionPool

        func blocks(
            of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
        ) async throws(PostgresError) -> [LogSpan] {
            _ = try await pool.execute(
                Query(
                    Statement(
                        """
                        INSERT INTO bus.retention (partition, dropped_to)
                        SELECT partition, 1 FROM bus.partitions WHERE head > 0 ON CONFLICT DO NOTHING
                        """)))
            return spans
        }
    }

    @Test func `a page fails if retention drops events during the read`() async throws {
        let fixture = try await OpsFixture()
        for _ in 0..<3 { try await fixture.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        let queries = LogQueries(
            pool: fixture.pool, partitions: OpsFixture.partitions, skipIndex: DroppingOutline(pool: fixture.pool))
        var filter = EventFilter()
        filter.types = ["other.thing.pinged"]
        let start = Dictionary(uniqueKeysWithValues: (0..<OpsFixture.partitions).map { ($0, 0) })
        await #expect(throws: LogQueryError.beyondRetention) {
            try await queries.page(filter, .oldest, from: start, limit: 10)
        }
        // A page without a position restarts with the retained events.
        _ = try await fixture.pool.execute(Query(Statement("DELETE FROM bus.retention")))
        let page = try await queries.page(filter, .oldest, limit: 10)
        #expect(page.events.first?.partition == partition && page.isComplete)
        #expect(page.next[partition] == 3)
    }

    @Test func `a missing offset is found`() async throws {
        let fixture = try await OpsFixture()
        for _ in 0..<5 { try await fixture.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        #expect(try await fixture.queries.checkDensity(of: partition).faults.isEmpty)
        _ = try await fixture.sql("DELETE FROM bus.events WHERE log_offset = 3")
        let check = try await fixture.queries.checkDensity(of: partition)
        #expect(check.faults == [1...5] && check.count == 4 && check.last == 5)
    }

    @Test func `the lag of a consumer is its number of unread events`() async throws {
        let fixture = try await OpsFixture()
        for _ in 0..<3 { try await fixture.append(to: "a") }
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        let consumers = try await fixture.queries.consumers()
        #expect(consumers.map(\.name) == ["counter"])
        let positions = try #require(consumers.first?.positions)
        #expect(positions.map(\.lag) == (0..<OpsFixture.partitions).map { $0 == partition ? 3 : 0 })
        #expect(positions.map { $0.waitingSince != nil } == (0..<OpsFixture.partitions).map { $0 == partition })
        #expect(positions.allSatisfy { $0.owner == nil })
    }
}
