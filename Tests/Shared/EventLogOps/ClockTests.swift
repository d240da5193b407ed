import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import TestSupport
import Testing
import Timeline

@Suite("The virtual clock", .tags(.database), .timeLimit(.minutes(5))) struct ClockTests {
    @Test func `a new log has real time, which can't be set`() async throws {
        let fixture = try await OpsFixture()
        let reading = try await fixture.control.read()
        #expect(!reading.isVirtual && !reading.isFrozen && reading.rate == 1)
        #expect(abs((reading.now - RealClock().now).milliseconds) < 10_000)
        await #expect(throws: ClockError.notVirtual) { try await fixture.control.set(frozen: true) }
        await #expect(throws: ClockError.notVirtual) { try await fixture.control.advance(by: .seconds(1)) }
    }

    @Test func `a frozen clock stops and resumes at its rate`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let fast = try await fixture.control.set(rate: 1000, frozen: false)
        #expect(fast.rate == 1000 && fast.isVirtual)
        let frozen = try await fixture.control.set(frozen: true)
        #expect(frozen.isFrozen && frozen.rate == 1000 && frozen.now >= fast.now)
        _ = try await fixture.sql("SELECT pg_sleep(0.05)")
        #expect(try await fixture.control.read() == frozen)
        try await fixture.control.set(frozen: false)
        _ = try await fixture.sql("SELECT pg_sleep(0.05)")
        let later = try await fixture.control.read()
        #expect((later.now - frozen.now).seconds >= 50 && later.rate == 1000)
    }

    @Test func `time never goes back when the rate changes`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        var last = try await fixture.control.read().now
        for rate in [100_000, 0.001, 5000, 1, 0.5, 100_000, 3] {
            for frozen in [false, true, false] {
                let now = try await fixture.control.set(rate: rate, frozen: frozen).now
                #expect(now >= last)
                last = now
            }
        }
    }

    @Test func `a second migration does not change a virtual clock`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        try await fixture.control.set(frozen: true)
        let before = try await fixture.control.advance(by: .days(400), patience: .seconds(5)) {
            try await fixture.readAll()
        }
        let connection = try await Connection.open(fixture.options, logger: fixture.logger)
        try await LogSchema.makeClockVirtual(connection)
        await connection.close()
        #expect(try await fixture.control.read() == before)
    }

    @Test func `processes follow a change of the clock by its notification`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        let sender = WakeUpSender(pool: fixture.pool, sender: .init(), logger: fixture.logger)
        let updates = WakeUpReceiver(fixture.options, sender: sender, logger: fixture.logger)
        let clock = SharedClock()
        // The poll is off, so only the notification works.
        let follower = ClockFollower(
            clock, pool: fixture.pool, updates: updates, poll: .seconds(600), logger: fixture.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await updates.run() }
            group.addTask { try await follower.run() }
            try await eventually(describe: "the follower has read the clock") { clock.current.isVirtual }
            try await fixture.control.set(frozen: true)
            try await eventually(describe: "the notification of the freeze") { clock.current.rate == 0 }
            let reading = try await fixture.control.read()
            #expect(clock.now == reading.now)
            group.cancelAll()
        }
    }

    @Test func `the role of ops can change the clock only by its functions`() async throws {
        let fixture = try await OpsFixture(virtual: true)
        _ = try await fixture.sql(
            """
            INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer)
            VALUES (0, 'counter', 'k', '', '')
            """)
        try await fixture.pool.withConnection { connection in
            _ = try await connection.execute(Query(Statement("SET ROLE dormouse_ops")))
            _ = try await connection.execute(Query(Statement("SELECT bus.set_clock(2, false)"), rowsExpected: 1))
            _ = try await connection.execute(Query(Statement("SELECT * FROM bus.deadlines()")))
            for forbidden in [
                "UPDATE bus.clock SET rate = 3", "SELECT * FROM counter.states", "DELETE FROM bus.events",
                "UPDATE bus.cursors SET log_offset = 0", "SELECT bus.take_snapshots(0, current_date, 'counter')",
                "SELECT * FROM bus.signing_keys",
                "INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer) VALUES (0, 'a', '', '', '')",
                "UPDATE bus.idempotency SET service = 'a'",
            ] {
                do {
                    _ = try await connection.execute(Query(Statement(forbidden)))
                    Issue.record("\(forbidden) was allowed")
                } catch let error as PostgresError { #expect(error.sqlState == "42501") }
            }
            let others = try await connection.execute(Query(Statement("SELECT FROM bus.idempotency")))
            #expect(others.isEmpty)
            _ = try await connection.execute(Query(Statement("RESET ROLE")))
        }
        #expect(try await fixture.control.read().rate == 2)
    }
}

extension ClockControl {
    /// Advances without running consumers; `read` moves their cursors.
    fileprivate func advance(
        by interval: Interval, patience: Duration, reading read: @Sendable () async throws -> Void
    ) async throws -> ClockReading {
        try await read()
        return try await advance(by: interval, patience: patience)
    }
}
