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

@Suite("The virtual clock", .timeLimit(.minutes(5))) struct ClockTests {
    @Test func `a new log has real time, which can't be set`() async throws {
        let bench = try await OpsBench()
        let reading = try await bench.control.read()
        #expect(!reading.isVirtual && !reading.isFrozen && reading.rate == 1)
        #expect(abs((reading.now - RealClock().now).milliseconds) < 10_000)
        await #expect(throws: ClockError.notVirtual) { try await bench.control.freeze() }
        await #expect(throws: ClockError.notVirtual) { try await bench.control.advance(by: .seconds(1)) }
    }

    @Test func `a frozen clock stops and resumes at its rate`() async throws {
        let bench = try await OpsBench(virtual: true)
        let fast = try await bench.control.set(rate: 1000, frozen: false)
        #expect(fast.rate == 1000 && fast.isVirtual)
        let frozen = try await bench.control.freeze()
        #expect(frozen.isFrozen && frozen.rate == 1000 && frozen.now >= fast.now)
        _ = try await bench.sql("SELECT pg_sleep(0.05)")
        #expect(try await bench.control.read() == frozen)
        try await bench.control.unfreeze()
        _ = try await bench.sql("SELECT pg_sleep(0.05)")
        let later = try await bench.control.read()
        #expect((later.now - frozen.now).seconds >= 50 && later.rate == 1000)
    }

    @Test func `time never goes back when the rate changes`() async throws {
        let bench = try await OpsBench(virtual: true)
        var last = try await bench.control.read().now
        for rate in [100_000, 0.001, 5000, 1, 0.5, 100_000, 3] {
            for frozen in [false, true, false] {
                let now = try await bench.control.set(rate: rate, frozen: frozen).now
                #expect(now >= last)
                last = now
            }
        }
    }

    @Test func `a second migration does not change a virtual clock`() async throws {
        let bench = try await OpsBench(virtual: true)
        try await bench.control.freeze()
        let before = try await bench.control.advance(by: .days(400), patience: .seconds(5)) {
            try await bench.readAll()
        }
        let connection = try await Connection.open(bench.options, logger: bench.logger)
        try await LogSchema.makeClockVirtual(connection)
        await connection.close()
        #expect(try await bench.control.read() == before)
    }

    @Test func `processes follow a change of the clock by its notification`() async throws {
        let bench = try await OpsBench(virtual: true)
        let sender = HintSender(pool: bench.pool, sender: .init(), logger: bench.logger)
        let news = HintReceiver(bench.options, sender: sender, logger: bench.logger)
        let clock = SharedClock()
        // The poll is off, so only the notification works.
        let follower = ClockFollower(clock, pool: bench.pool, news: news, poll: .seconds(600), logger: bench.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await news.run() }
            group.addTask { try await follower.run() }
            try await eventually(describe: "the follower has read the clock") { clock.current.isVirtual }
            try await bench.control.freeze()
            try await eventually(describe: "the notification of the freeze") { clock.current.rate == 0 }
            let reading = try await bench.control.read()
            #expect(clock.now == reading.now)
            group.cancelAll()
        }
    }

    @Test func `the role of ops can change the clock only by its functions`() async throws {
        let bench = try await OpsBench(virtual: true)
        _ = try await bench.sql(
            """
            INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer)
            VALUES (0, 'counter', 'k', '', '')
            """)
        try await bench.pool.withConnection { connection in
            _ = try await connection.run(Call(Statement("SET ROLE dormouse_ops")))
            _ = try await connection.run(Call(Statement("SELECT bus.set_clock(2, false)"), rowsExpected: 1))
            _ = try await connection.run(Call(Statement("SELECT * FROM bus.deadlines()")))
            for forbidden in [
                "UPDATE bus.clock SET rate = 3", "SELECT * FROM counter.states", "DELETE FROM bus.events",
                "UPDATE bus.cursors SET log_offset = 0", "SELECT bus.take_snapshots(0, current_date, 'counter')",
                "SELECT * FROM bus.signing_keys",
                "INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer) VALUES (0, 'a', '', '', '')",
                "UPDATE bus.idempotency SET service = 'a'",
            ] {
                do {
                    _ = try await connection.run(Call(Statement(forbidden)))
                    Issue.record("\(forbidden) was allowed")
                } catch let error as PostgresError { #expect(error.sqlState == "42501") }
            }
            let others = try await connection.run(Call(Statement("SELECT FROM bus.idempotency")))
            #expect(others.isEmpty)
            _ = try await connection.run(Call(Statement("RESET ROLE")))
        }
        #expect(try await bench.control.read().rate == 2)
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
