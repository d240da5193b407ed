import Contracts
import EventLog
import Postgres
import TestSupport
import Testing
import Timeline

@testable import OpsService

@Suite("The skip index", .tags(.database), .timeLimit(.minutes(5))) struct SkipIndexTests {
    private static let types = ["a.rare.one", "a.some.thing", "b.often.so"]

    /// For any counted part of the log, any filter and any page size, each matching event is returned once. A page
    /// is in the order of append times, and each partition over all pages in the order of offsets.
    @Test(arguments: EventOrder.allCases) func `queries with the skip index miss no matching event`(_ order: EventOrder)
        async throws
    {
        try await OpsFixture.run { fixture in
            // The offsets include the end of a group of blocks.
            try await fixture.sql("UPDATE bus.partitions SET head = 31500")
            try await fixture.sql("INSERT INTO bus.retention SELECT partition, 31500 FROM bus.partitions")
            try await fixture.fill(2000)
            try await fixture.count()
            // A part of the log is counted, up to the middle of a block.
            try await fixture.fill(1200)
            try await fixture.sql("SELECT ops.count_events(0, 700), ops.count_events(1, 1)")
            let queries = LogQueries(
                pool: fixture.pool, partitions: OpsFixture.partitions, skipIndex: OpsStore(pool: fixture.pool))
            let all = try await fixture.all()
            var random = SplitMix64(seed: order == .oldest ? 1 : 2)
            for number in 0..<40 {
                let filter = Self.filter(&random, all)
                let limit = Int.random(in: 50...1000, using: &random)
                var found: [Event] = []
                var place: PositionVector?
                repeat {
                    let page = try await queries.page(filter, order, from: place, limit: limit)
                    let sorted = sortedByTime(page.events)
                    #expect(page.events.map(\.id) == (order == .oldest ? sorted : sorted.reversed()).map(\.id))
                    found += page.events
                    place = page.isComplete ? nil : page.next
                } while place != nil
                let wanted = all.filter(filter.wants)
                #expect(found.count == wanted.count, "\(number): \(filter)")
                for partition in 0..<OpsFixture.partitions {
                    let ids = wanted.filter { $0.partition == partition }.map(\.id)
                    #expect(
                        found.filter { $0.partition == partition }.map(\.id)
                            == (order == .oldest ? ids : ids.reversed()), "\(number): \(filter)")
                }
            }
        }
    }

    /// The counted blocks exclude types that never occurred, so the query reads no event.
    @Test func `a query without matching blocks reads no events`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.fill(4000)
            try await fixture.count()
            let skipIndex = OpsStore(pool: fixture.pool)
            let spans = (0..<OpsFixture.partitions).map { LogSpan(partition: $0, low: 0, high: 4000) }
            var filter = EventFilter()
            filter.types = ["never.was.there"]
            #expect(try await skipIndex.blocks(of: spans, filter, .newest, atMost: 100).isEmpty)
            filter.types = [Self.types[2]]
            #expect(try await skipIndex.blocks(of: spans, filter, .newest, atMost: 100).count == 8 * 3)
            filter.since = Instant(milliseconds: 3900)
            #expect(
                try await skipIndex.blocks(of: spans, filter, .newest, atMost: 100)
                    == spans.map { LogSpan(partition: $0.partition, low: 3584, high: 4000) })
            // A block is read only from the first to the last event of the type.
            filter = EventFilter()
            filter.types = [Self.types[0]]
            #expect(
                try await skipIndex.blocks(of: [spans[1]], filter, .oldest, atMost: 100)
                    == [1, 1778, 3555].map { LogSpan(partition: 1, low: $0 - 1, high: $0) })
        }
    }

    /// The skip index deletes a block when all its events are dropped.
    @Test func `the skip index deletes blocks whose events are dropped`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.fill(2000)
            try await fixture.count()
            try await fixture.sql("INSERT INTO bus.retention (partition, dropped_to) VALUES (0, 1100)")
            try await fixture.count()
            let left = try await fixture.owner.execute(
                Query(Statement("SELECT block FROM ops.blocks WHERE partition = 0 ORDER BY block")))
            #expect(try left.decode(Int.self) == [2, 3])
            let types = try await fixture.owner.execute(
                Query(
                    Statement(
                        "SELECT DISTINCT block FROM ops.block_types WHERE partition = 0 ORDER BY block")))
            #expect(try types.decode(Int.self) == [2, 3])
            let blocks = Statement("SELECT count(*)::int8 FROM ops.block_groups WHERE partition = 0")
            #expect(try await fixture.owner.execute(Query(blocks))[0].decode(Int.self, at: 0) == 1)
            try await fixture.sql("UPDATE bus.retention SET dropped_to = 40000")
            try await fixture.count()
            #expect(try await fixture.owner.execute(Query(blocks))[0].decode(Int.self, at: 0) == 0)
        }
    }

    private static func filter(_ random: inout SplitMix64, _ all: [Event]) -> EventFilter {
        var filter = EventFilter()
        if Bool.random(using: &random) { filter.types = types.filter { _ in Bool.random(using: &random) } }
        if Int.random(in: 0..<3, using: &random) == 0 { filter.services = [Bool.random(using: &random) ? "a" : "b"] }
        if Bool.random(using: &random) { filter.since = all.randomElement(using: &random)?.time }
        if Bool.random(using: &random) { filter.until = all.randomElement(using: &random)?.time }
        return filter
    }
}

extension OpsFixture {
    /// Appends events to each partition, one per millisecond. Types come in runs, and one type is rare.
    /// The second partition has half as many events in the same time, the third a third.
    fileprivate func fill(_ count: Int) async throws {
        for partition in 0..<Self.partitions {
            try await sql(
                """
                WITH moved AS (
                    UPDATE bus.partitions SET head = head + \(count) WHERE partition = \(partition) RETURNING head)
                INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data,
                    appended_at)
                SELECT \(partition), o, current_date, gen_random_uuid(), split_part(t, '.', 1), t, 1, 'device:d', o,
                    gen_random_uuid(), '{}',
                    timestamptz '2026-01-01' + o * \(partition + 1) * interval '1 millisecond'
                FROM moved, generate_series(head - \(count) + 1, head) AS o,
                    LATERAL (SELECT CASE WHEN o % 1777 = \(partition) THEN 'a.rare.one'
                        WHEN o / 900 % 2 = 0 AND o % 3 = 0 THEN 'a.some.thing' ELSE 'b.often.so' END AS t) AS t
                """)
        }
    }

    /// Sorts by append time.
    fileprivate func all() async throws -> [Event] {
        let rows = try await owner.execute(
            (0..<Self.partitions).map { partition in
                Query(LogReader.all, [.int4(Int32(partition)), .int(0), .int(100_000)])
            })
        let events = try rows.flatMap { rows in
            try rows.map { row throws(PostgresError) in try LogReader.event(row) }
        }
        return sortedByTime(events)
    }
}

/// Sorts events of `OpsFixture.fill` by append time.
private func sortedByTime(_ events: [Event]) -> [Event] {
    func rank(_ event: Event) -> (Int, Int) { (event.offset * (event.partition + 1), event.partition) }
    return events.sorted { rank($0) < rank($1) }
}
