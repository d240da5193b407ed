import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import TestSupport
import Testing

@testable import Runtime

/// Queries over all partitions, or over all states.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct StandingTests {
    @Test func `the deadlines of parked keys wake no partition`() async throws {
        let fixture = try await RuntimeFixture()
        let home = AggregateKey.device("a").partition(of: fixture.partitions)
        try await fixture.cluster.sql(
            """
            INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            VALUES (\(home), 'device:a', '', 1, 1, 1, 0, 1), (\(home), 'device:b', '', 1, 1, 1, 0, 2);
            """, database: fixture.database)
        func earliest() async throws -> Int? {
            let rows = try await fixture.pool.execute(Query(Statements.standing(Counter.name), [.text(Counter.name)]))
            return try rows.decode((Int, Bool, Int?).self).first { $0.0 == home }?.2
        }
        #expect(try await earliest() == 1)
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due, reason)
            VALUES (\(home), 'counter', 'device:a', 0, 1, 'test');
            UPDATE bus.cursors SET parked = 1 WHERE partition = \(home);
            """, database: fixture.database)
        #expect(try await earliest() == 2)
        await fixture.pool.close()
    }

    @Test func `dead letters come page by page`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due, reason)
            SELECT p, 'counter', 'device:' || k, o, CASE WHEN o = 0 THEN 7 END, 'test'
            FROM generate_series(0, 1) AS p, unnest(ARRAY['a', 'b']) AS k, unnest(ARRAY[0, 5]) AS o
            """, database: fixture.database)
        let runtime = try fixture.observer()
        let all = try await runtime.deadLetters()
        #expect(all.count == 8)
        var pages: [DeadLetter] = []
        while true {
            let page = try await runtime.deadLetters(after: pages.last, limit: 3)
            #expect(page.count <= 3)
            if page.isEmpty { break }
            pages += page
        }
        #expect(pages == all)
        await fixture.pool.close()
    }

    @Test func `a page scans a limited number of states`() async throws {
        let fixture = try await RuntimeFixture()
        let (common, rare) = (UUID().uuidString, UUID().uuidString)
        func state(_ ping: String) -> [UInt8] {
            var state = Brittle()
            state.lastPing = ping
            return state.binary
        }
        let count = StoredStates<Brittle>.limit + 200
        let insert = Statement(
            """
            INSERT INTO counter.states (partition, key, state, machine_version, version, event_count, decided_at)
            SELECT 0, 'device:' || lpad(n::text, 6, '0'), CASE WHEN n = $1 THEN $3 ELSE $2 END, 1, 1, 1, 0
            FROM generate_series(1, $1) AS n
            """)
        _ = try await fixture.pool.execute(Query(insert, [.int(count), .bytes(state(common)), .bytes(state(rare))]))
        let states = StoredStates<Brittle> { try await fixture.pool.execute($0) }
        let first = try await states.page(of: 0, mentioning: rare)
        #expect(first.states.isEmpty)
        #expect(first.last == .device("001000"))
        let second = try await states.page(of: 0, mentioning: rare, after: first.last)
        #expect(second.states.map(\.key) == [.device("001200")])
        #expect(second.last == nil)
        await fixture.pool.close()
    }
}
