import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Batches that decide from memory, against a real database: the commit verifies what they assume.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct AssumptionTests {
    /// A clock of a machine that can be set.
    private final class SetClock: SuiteClock {
        let skew = Mutex(Interval.zero)
        var now: Instant { RealClock().now + skew.withLock { $0 } }
    }

    @Test func `the owner decides repeated commands of a device from memory`() async throws {
        try await using { play async throws in
            for total in 1...20 { #expect(try await play.add(1) == total) }
            #expect(play.assumed >= 19)
            #expect(try await play.log().map(\.offset) == Array(1...20))
            #expect(try await play.cursor() == 20)
        }
    }

    @Test func `many partitions share a commit from memory`() async throws {
        try await using { play in
            let devices = play.fixture.oneDeviceInEach
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for device in devices { group.addTask { _ = try await play.engine.submit(.add(1, to: device)) } }
                    try await group.waitForAll()
                }
            }
            #expect(play.assumed > 0)
            #expect(try await play.fixture.log().count == 6 * devices.count - 1)
        }
    }

    /// Changes of other sessions that the process does not see.
    @Test(arguments: [
        "last_batch = gen_random_uuid()", "owner = gen_random_uuid()", "epoch = epoch + 1", "attempts = 1",
        "lease_expires = '-infinity'", "parked = 1", "outage = int8range(1, 2)",
        "state_form = 2",
    ]) func `a change of the cursor row leads to a look`(_ change: String) async throws {
        try await using { play in
            for total in 1...2 { #expect(try await play.add(1) == total) }
            let before = play.assumed
            try await play.sql("UPDATE bus.cursors SET \(change)")
            #expect(try await play.add(1) == 3)
            #expect(play.assumed == before)
            #expect(try await play.log().count { $0.type == Added.type } == 3)
        }
    }

    @Test func `a state that another process has changed is read again`() async throws {
        try await using { play in
            for total in 1...2 { #expect(try await play.add(1) == total) }
            let other = play.fixture.engine()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await other.run() }
                #expect(try await other.submit(.add(1, to: play.device)).body == Array("3".utf8))
                #expect(try await play.add(1) == 4)
                #expect(try await other.submit(.add(1, to: play.device)).body == Array("5".utf8))
                #expect(try await play.add(1) == 6)
                await other.stop()
                try await group.waitForAll()
            }
        }
    }

    @Test func `a repeated request gets the stored answer`() async throws {
        try await using { play in
            for total in 1...2 { #expect(try await play.add(1) == total) }
            var submission = Submission<Counter>.add(1, to: play.device)
            submission.idempotency = Idempotency(key: "k", fingerprint: [1])
            let first = try await play.engine.submit(submission)
            let second = try await play.engine.submit(submission)
            #expect(!first.isReplay && second.isReplay && first.body == second.body)
            submission.idempotency?.fingerprint = [2]
            await #expect(throws: RuntimeError.idempotencyConflict) { try await play.engine.submit(submission) }
            #expect(try await play.add(1) == 4)
        }
    }

    @Test func `a step of the virtual clock counts at once`() async throws {
        try await using(isVirtual: true) { play in
            for total in 1...2 { #expect(try await play.add(1) == total) }
            _ = try await play.engine.submit(Submission(.ring(after: .hours(1)), to: play.device))
            try await play.sql("UPDATE bus.clock SET virtual_epoch = virtual_epoch + 7200000")
            // No notification tells the engine. The command finds the deadline due.
            _ = try await play.add(1)
            #expect(try await play.log().map(\.type).suffix(2) == [Rang.type, Added.type])
        }
    }

    @Test func `a clock of the machine that is set forward fires no deadline`() async throws {
        try await using { play in
            for total in 1...2 { #expect(try await play.add(1) == total) }
            _ = try await play.engine.submit(Submission(.ring(after: .minutes(10)), to: play.device))
            play.machineClock.skew.withLock { $0 = .hours(1) }
            _ = try await play.add(1)
            let events = try await play.log()
            #expect(!events.contains { $0.type == Rang.type })
            #expect(try #require(events.last).time - RealClock().now < .minutes(1))
        }
    }

    // MARK: The engine under test

    private struct Play: Sendable {
        let fixture: RuntimeFixture
        let engine: BatchEngine<Counter>
        let metrics: Metrics
        let machineClock: SetClock
        let device: String

        /// The commits of batches that decided from memory.
        var assumed: Int {
            let name = "dormouse_commits_assumed_total "
            let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(name) }
            return line.flatMap { Double($0.dropFirst(name.count)) }.map { Int($0) } ?? 0
        }

        func add(_ amount: Int) async throws -> Int? {
            Int(String(decoding: try await engine.submit(.add(amount, to: device)).body, as: UTF8.self))
        }

        /// The events of the device.
        func log() async throws -> [Event] {
            try await fixture.log().filter { [key = AggregateKey.device(device)] in $0.key == key }
        }

        func sql(_ statement: String) async throws {
            _ = try await fixture.cluster.sql(statement, database: fixture.database)
        }

        /// The position of the cursor of the device's partition.
        func cursor() async throws -> Int {
            let partition = Parameter.int4(Int32(AggregateKey.device(device).partition(of: fixture.partitions)))
            let read = Statement("SELECT log_offset FROM bus.cursors WHERE partition = $1 AND consumer = 'counter'")
            return try await fixture.pool.execute(Query(read, [partition]))[0].decode(Int.self)
        }
    }

    /// Runs an engine that owns all partitions and has read the log to its head.
    private func using(isVirtual: Bool = false, _ body: (Play) async throws -> Void) async throws {
        let fixture = try await RuntimeFixture()
        if isVirtual {
            try await fixture.cluster.sql(
                "UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = 1000000", database: fixture.database)
        }
        let (metrics, machineClock) = (Metrics(), SetClock())
        let engine = BatchEngine<Counter>(
            partitions: fixture.partitions, pool: fixture.pool, clock: SharedClock(real: machineClock), policy: (),
            wakeUps: WakeUpSender(pool: fixture.pool, sender: UUID(), logger: fixture.logger),
            budget: StateBudget(1 << 20), metrics: metrics, logger: fixture.logger)
        let device = try #require(fixture.oneDeviceInEach.first)
        let play = Play(
            fixture: fixture, engine: engine, metrics: metrics, machineClock: machineClock, device: device)
        let owner = UUID()
        try await play.sql(
            """
            UPDATE bus.cursors SET owner = '\(owner)', epoch = 1,
                lease_expires = clock_timestamp() + interval '1 hour'
            """)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            await engine.guardCommands(false, condemned: [])
            for partition in 0..<fixture.partitions {
                await engine.hold(partition, .init(owner: owner, epoch: 1), isSuspicious: false)
            }
            // The first command of each device reads its state and the log.
            for one in fixture.oneDeviceInEach where one != device { _ = try await engine.submit(.add(0, to: one)) }
            try await body(play)
            await engine.stop()
            try await group.waitForAll()
        }
        await fixture.pool.close()
    }
}
