import Contracts
import EventLog
import MachineTesting
import Machines
import TestSupport
import Testing

@testable import Postgres
@testable import Runtime

/// The same as ``UnreadDaysTests`` with a database.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct UnreadDaysReadTests {
    /// Appends an event on the day after the partition's day, as an append after midnight does.
    private func appendTomorrow(_ fixture: RuntimeFixture, to device: String) async throws {
        let partition = AggregateKey.device(device).partition(of: fixture.partitions)
        let append = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1, day = day + 1 WHERE partition = $1
                RETURNING head, day)
            INSERT INTO bus.events
                (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT $1, head, day, gen_random_uuid(), 'other', 'other.thing.pinged', 1, $2, 0, gen_random_uuid(), '{}'
            FROM moved
            """)
        _ = try await fixture.pool.execute(append, .int4(Int32(partition)), .text("device:" + device))
        try await fixture.wakeUp([partition], of: "other.thing.pinged")
    }

    @Test func `an event of a new day is read although the bounds end before it`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.running { runtime in
            try await fixture.append(to: device)
            try await fixture.waitForLog { $0.contains { $0.source == Counter.name } }
            for count in 2...3 {
                try await appendTomorrow(fixture, to: device)
                try await fixture.waitForLog { $0.count { $0.source == Counter.name } == count }
            }
            #expect(try await runtime.foldCheck(.device(device)))
        }
        await fixture.pool.close()
    }

    @Test func `a read within one day opens one table`() async throws {
        let fixture = try await RuntimeFixture()
        func tables(_ days: ClosedRange<Int>) async throws -> Int {
            let types = "'other.thing.pinged'"
            var text = LogReader.behindCursors.sql
            let values = [
                "'{0}'", "'\(Counter.name)'", "'{10}'", "ARRAY[\(types)]", "\(days.lowerBound)", "\(days.upperBound)",
            ]
            for (index, value) in values.enumerated() {
                text = text.replacing("$\(index + 1)", with: value)
            }
            let rows = try await fixture.pool.execute(Query(Statement("EXPLAIN " + text)))
            return try rows.decode(String.self).count { $0.contains("Scan") && $0.contains("events_") }
        }
        let today = try await fixture.pool.execute(Query(Statement("SELECT (current_date - date '2000-01-01')::int8")))[
            0
        ]
        .decode(Int.self)
        #expect(try await tables(today...today) == 1)
        #expect(try await tables(LogReader.anyDays) > 2)
        await fixture.pool.close()
    }
}
