import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// A clock that is ahead of the machine's clock, or behind it.
private struct SkewedClock: SuiteClock {
    let skew: Interval
    var now: Instant { RealClock().now + skew }
}

/// Clocks that differ, and clocks that go back.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct ClockSkewTests {
    @Test func `a replica whose clock is an hour ahead fires no deadline before its time`() async throws {
        let fixture = try await RuntimeFixture()
        let clock = SharedClock(real: SkewedClock(skew: .hours(1)))
        try await fixture.running(clock: clock) { runtime in
            _ = try await runtime.submit(Submission(.ring(after: .minutes(10)), to: "a"))
            // Each of its batches checks for due deadlines, as does each ping.
            for _ in 0..<3 { try await fixture.counted([try await fixture.append(to: "a")]) }
            let events = try await fixture.log()
            #expect(!events.contains { $0.type == Rang.type })
            let set = try #require(events.first { $0.type == RingSet.type })
            #expect((set.time - RealClock().now).magnitude < .minutes(5))
            #expect((clock.skew + .hours(1)).magnitude < .minutes(1))
            #expect((clock.now - RealClock().now).magnitude < .minutes(1))
        }
        await fixture.pool.close()
    }

    @Test func `a lease and a membership that expire too late are over`() async throws {
        let fixture = try await RuntimeFixture()
        // The state after a failover from a server whose clock was 10 minutes ahead.
        try await fixture.cluster.sql(
            """
            UPDATE bus.cursors SET owner = gen_random_uuid(), lease_expires = clock_timestamp() + interval '10 minutes';
            INSERT INTO bus.members (consumer, member, since_time, expires)
            VALUES ('counter', gen_random_uuid(), 0, clock_timestamp() + interval '10 minutes');
            """, database: fixture.database)
        try await fixture.running { runtime in
            try await withTimeout(seconds: 60, "the partitions to be taken over") {
                while await runtime.ownedPartitions < fixture.partitions { await Task.yield() }
            }
        }
        await fixture.pool.close()
    }

    @Test func `a read state comes with a clock that knows the last advance`() async throws {
        let fixture = try await RuntimeFixture()
        let clock = SharedClock()
        try await fixture.running(clock: clock) { runtime in
            _ = try await runtime.submit(.add(1, to: "a"))
            let moment = Instant(milliseconds: 4_000_000_000_000)
            // No notification tells the process.
            _ = try await fixture.pool.execute(
                Query(
                    Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = $1"),
                    [.int(Int(moment.milliseconds))]))
            _ = try await runtime.state(.device("b"))
            #expect(clock.now == moment)
        }
        await fixture.pool.close()
    }

    @Test func `no other member can take a lease within its term`() async throws {
        let fixture = try await RuntimeFixture()
        func acquire(_ member: UUID) async throws -> Int {
            try await fixture.pool.execute(
                Query(
                    Statements.acquire,
                    [.int4(0), .text(Counter.name), .uuid(member), .double(Statements.term), .bool(false)])
            ).count
        }
        #expect(try await acquire(UUID()) == 1)
        #expect(try await acquire(UUID()) == 0)
        await fixture.pool.close()
    }

    @Test func `a batch reads what is committed, whatever the database's default is`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.pool.withConnection { connection in
            let rows = try await connection.execute([
                Query(Statement("SELECT set_config('default_transaction_isolation', 'repeatable read', false)")),
                Query(Statements(service: Counter.name).begin), Query(Statement("SHOW transaction_isolation")),
                Query(Statement("ROLLBACK")),
            ])
            #expect(try rows[2][0].decode(String.self, at: 0) == "read committed")
        }
        await fixture.pool.close()
    }

    @Test func `a command without a sent commit was not run`() async throws {
        let fixture = try await RuntimeFixture()
        let engine = fixture.engine()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            var command = Submission<Counter>.add(1, to: device)
            // The batch runs in a task of the engine.
            command.check = { _ in withUnsafeCurrentTask { $0?.cancel() } }
            let sent = command
            await #expect(throws: RuntimeError.databaseUnavailable) { try await engine.submit(sent) }
            await engine.stop()
            try await group.waitForAll()
        }
        #expect(try await fixture.log().isEmpty)
        await fixture.pool.close()
    }
}
