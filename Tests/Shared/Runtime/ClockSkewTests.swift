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
@Suite(.timeLimit(.minutes(2))) struct ClockSkewTests {
    @Test func `a replica whose clock is an hour ahead fires no deadline before its time`() async throws {
        let bench = try await RuntimeBench()
        let clock = SharedClock(real: SkewedClock(skew: .hours(1)))
        try await bench.running(clock: clock) { runtime in
            _ = try await runtime.submit(Submission(.ring(after: .minutes(10)), to: "a"))
            // Each of its batches checks for due deadlines, as does each ping.
            for _ in 0..<3 { try await bench.counted([try await bench.append(to: "a")]) }
            let events = try await bench.log()
            #expect(!events.contains { $0.type == Rang.type })
            let set = try #require(events.first { $0.type == RingSet.type })
            #expect((set.time - RealClock().now).magnitude < .minutes(5))
            #expect((clock.skew + .hours(1)).magnitude < .minutes(1))
            #expect((clock.now - RealClock().now).magnitude < .minutes(1))
        }
        await bench.pool.close()
    }

    @Test func `a lease and a membership that expire too late are over`() async throws {
        let bench = try await RuntimeBench()
        // The state after a failover from a server whose clock was 10 minutes ahead.
        try await bench.cluster.sql(
            """
            UPDATE bus.cursors SET owner = gen_random_uuid(), lease_expires = clock_timestamp() + interval '10 minutes';
            INSERT INTO bus.members (consumer, member, since_time, expires)
            VALUES ('counter', gen_random_uuid(), 0, clock_timestamp() + interval '10 minutes');
            """, database: bench.database)
        try await bench.running { runtime in
            try await withTimeout(seconds: 60, "the partitions to be taken over") {
                while await runtime.ownedPartitions < bench.partitions { await Task.yield() }
            }
        }
        await bench.pool.close()
    }

    @Test func `no other member can take a lease within its term`() async throws {
        let bench = try await RuntimeBench()
        func acquire(_ member: UUID) async throws -> Int {
            try await bench.pool.run(
                Call(
                    Statements.acquire,
                    [.int4(0), .text(Counter.name), .uuid(member), .double(Statements.term), .bool(false)])
            ).count
        }
        #expect(try await acquire(UUID()) == 1)
        #expect(try await acquire(UUID()) == 0)
        await bench.pool.close()
    }

    @Test func `a batch reads what is committed, whatever the database's default is`() async throws {
        let bench = try await RuntimeBench()
        try await bench.pool.withConnection { connection in
            let rows = try await connection.run([
                Call(Statement("SELECT set_config('default_transaction_isolation', 'repeatable read', false)")),
                Call(Statements(service: Counter.name).begin), Call(Statement("SHOW transaction_isolation")),
                Call(Statement("ROLLBACK")),
            ])
            #expect(try rows[2][0].text(0) == "read committed")
        }
        await bench.pool.close()
    }

    @Test func `a command without a sent commit was not run`() async throws {
        let bench = try await RuntimeBench()
        let worker = bench.worker()
        let device = try #require(bench.oneDeviceInEach.first)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run() }
            var command = Submission<Counter>.add(1, to: device)
            // The batch runs in the worker's own task.
            command.check = { _ in withUnsafeCurrentTask { $0?.cancel() } }
            let sent = command
            await #expect(throws: RuntimeError.databaseUnavailable) { try await worker.submit(sent) }
            try await group.waitForAll()
        }
        #expect(try await bench.log().isEmpty)
        await bench.pool.close()
    }
}
