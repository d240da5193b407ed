import Contracts
import Foundation
import Glibc
import Machines
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The definition of an outage, and its detection.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct OutageDetectedTests {
    private let start = Instant(milliseconds: 1_700_000_000_000)

    private func at(_ seconds: Int64) -> Instant { start + .seconds(seconds) }

    /// As after a lost database or a stopped process.
    @Test func `a lease that expired under its owner shows an outage`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.freeze(at: start)
        try await fixture.running(Punctual.self, ()) { runtime in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            _ = try await runtime.submit(.ring(after: .seconds(30), to: device))
            try await fixture.cluster.sql(
                """
                UPDATE bus.cursors SET lease_expires = clock_timestamp() - interval '57 seconds',
                    served_at = clock_timestamp() - interval '60 seconds', served_time = \(start.milliseconds);
                UPDATE bus.members SET expires = clock_timestamp() - interval '57 seconds';
                UPDATE bus.clock SET virtual_epoch = \(at(60).milliseconds);
                """, database: fixture.database)
            try await fixture.waitForLog { $0.contains { $0.type == OutageCounted.type } }
            try await eventuallyTrue { try await fixture.outages() == 0 }
            #expect(try await fixture.log().map(\.type) == [RingSet.type, OutageCounted.type])
        }
        await fixture.pool.close()
    }

    @Test(arguments: [SIGKILL, SIGSTOP])
    func `the limits of a dead or stopped replica's devices are extended`(_ signal: Int32) async throws {
        let fixture = try await RuntimeFixture()
        let victim = try await CounterProcess(fixture, "serve", "punctual")
        try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
        // The clock is frozen until the replica is gone, so no ring comes before, even on a slow machine.
        let moment = RealClock().now
        try await fixture.freeze(at: moment)
        try await fixture.setRings(after: .seconds(2))
        victim.process.signal(signal)
        // Its earlier queries are done too. So no process serves the partitions when the clock continues.
        try await Backends.rest(in: fixture.url)
        try await fixture.goOn()
        try await eventuallyTrue {
            let now = try await fixture.suiteTime()
            return try await fixture.owners().isEmpty && now > moment + .seconds(4)
        }
        let next: CounterProcess
        if signal == SIGSTOP {
            victim.process.signal(SIGCONT)
            next = victim
        } else {
            next = try await CounterProcess(fixture, "serve", "punctual")
        }
        try await fixture.wakeUp(until: { $0.count { $0.type == Rang.type } == fixture.partitions })
        let events = try await fixture.log()
        for device in fixture.oneDeviceInEach {
            let own = events.filter { $0.key == .device(device) }
            #expect(own.first?.type == RingSet.type && own.last?.type == Rang.type)
            let noted = try own.filter { $0.type == OutageCounted.type }.map { try OutageCounted(jsonBytes: $0.data) }
            #expect(!noted.isEmpty)
            let length = noted.reduce(Interval.zero) { $0 + ($1.until - $1.from) }
            let set = try RingSet(jsonBytes: try #require(own.first).data).at
            #expect(own.last?.time == set + length)
            #expect(length > .seconds(4))
        }
        try await next.stop()
        await fixture.pool.close()
    }

    @Test func `the death of one of two replicas is no outage`() async throws {
        let fixture = try await RuntimeFixture()
        let victim = try await CounterProcess(fixture, "serve", "punctual")
        let survivor = try await CounterProcess(fixture, "serve", "punctual")
        try await eventuallyTrue { try await fixture.owners() == [2, 2] }
        try await fixture.freeze(at: RealClock().now)
        try await fixture.setRings(after: .seconds(2))
        victim.process.signal(SIGKILL)
        try await fixture.goOn()
        try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
        try await fixture.wakeUp(until: { $0.count { $0.type == Rang.type } == fixture.partitions })
        #expect(try await fixture.log().count == 2 * fixture.partitions)
        try await survivor.stop()
        await fixture.pool.close()
    }

    @Test func `a gap counts as an outage if it exceeds one second and no member lived`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.freeze(at: at(60))
        func outage(servedBefore seconds: Double?) async throws -> String {
            let served = seconds.map { "clock_timestamp() - make_interval(secs => \($0))" } ?? "NULL"
            // Living members stay alive, even if the test pauses.
            return try await fixture.cluster.sql(
                """
                UPDATE bus.members SET expires = clock_timestamp() + interval '5 seconds' WHERE since_time = \(at(55).milliseconds);
                SELECT coalesce(bus.outage_between(\(served), \(start.milliseconds), l.since, l.since_time)::text, 'none')
                FROM bus.living_since('counter') AS l
                """, database: fixture.database)
        }
        // The very first start.
        #expect(try await outage(servedBefore: nil) == "none")
        // A replica that was replaced at once.
        #expect(try await outage(servedBefore: 0.5) == "none")
        #expect(try await outage(servedBefore: 60) == "[\(start.milliseconds),\(at(60).milliseconds))")
        // The outage ends when the first member starts.
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.members VALUES ('counter', gen_random_uuid(), clock_timestamp() - interval '5 seconds',
                \(at(55).milliseconds), clock_timestamp()),
                ('other', gen_random_uuid(), '-infinity', 0, clock_timestamp() + interval '5 seconds'),
                ('counter', gen_random_uuid(), '-infinity', 0, '-infinity')
            """, database: fixture.database)
        #expect(try await outage(servedBefore: 60) == "[\(start.milliseconds),\(at(55).milliseconds))")
        #expect(try await outage(servedBefore: 5) == "none")
        // A member that missed two renewals may be dead, even before its row is deleted. A member that expires minutes
        // from now was renewed by a clock that has gone back since.
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.members VALUES ('counter', gen_random_uuid(), '-infinity', 0,
                clock_timestamp() + interval '1 second'),
                ('counter', gen_random_uuid(), '-infinity', 0, clock_timestamp() + interval '10 minutes')
            """, database: fixture.database)
        #expect(try await outage(servedBefore: 60) == "[\(start.milliseconds),\(at(55).milliseconds))")
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// Starts a frozen clock at the rate of real time.
    func goOn() async throws {
        _ = try await pool.execute(Query(Statement("SELECT bus.set_clock(1, false)"), rowsExpected: 1))
    }

    func suiteTime() async throws -> Instant {
        let rows = try await pool.execute(Query(Statement("SELECT bus.suite_time(bus.real_now())"), rowsExpected: 1))
        return Instant(milliseconds: Int64(try rows[0].decode(Int.self, at: 0)))
    }

    /// Waits for events of a running clock and wakes the engine repeatedly, because no ClockFollower runs here.
    func wakeUp(until condition: @Sendable @escaping ([Event]) -> Bool) async throws {
        let all = (0..<partitions).map(String.init).joined(separator: ",")
        try await eventuallyTrue {
            _ = try await pool.execute([Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:" + all)])])
            return try await condition(log())
        }
    }

    /// Sets a ring for a device of each partition, through a replica that holds no lease.
    func setRings(after interval: Interval) async throws {
        for device in oneDeviceInEach {
            let engine = engine(of: Punctual.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await engine.run() }
                _ = try await engine.submit(.ring(after: interval, to: device))
                await engine.stop()
                try await group.waitForAll()
            }
        }
    }
}
