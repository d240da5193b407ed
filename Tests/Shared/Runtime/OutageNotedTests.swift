import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Outages of a service: they extend each limit once.
@Suite(.tags(.database), .serialized, .timeLimit(.minutes(5))) struct OutageNotedTests {
    private let start = Instant(milliseconds: 1_700_000_000_000)

    private func at(_ seconds: Int64) -> Instant { start + .seconds(seconds) }

    @Test func `an outage extends running limits by its length`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = fixture.oneDeviceInEach
        try await fixture.freeze(at: start)
        try await fixture.running(Punctual.self, ()) { runtime in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            for device in devices { _ = try await runtime.submit(.ring(after: .seconds(30), to: device)) }
        }
        try await fixture.pass(real: 60, until: at(60))
        try await fixture.running(Punctual.self, ()) { runtime in
            try await fixture.waitForLog { $0.count { $0.type == OutageCounted.type } == devices.count }
            try await eventuallyTrue { try await fixture.outages() == 0 }
            let events = try await fixture.log()
            for device in devices {
                let own = events.filter { $0.key == .device(device) }
                #expect(own.map(\.type) == [RingSet.type, OutageCounted.type])
                let noted = try OutageCounted(jsonBytes: try #require(own.last).data)
                #expect(noted.from == start && noted.until == at(60))
            }
            try await fixture.waitForLog(at: at(90)) { $0.count { $0.type == Rang.type } == devices.count }
            for event in try await fixture.log() where event.type == Rang.type { #expect(event.time == at(90)) }
            for device in devices { #expect(try await runtime.foldCheck(.device(device))) }
        }
        await fixture.pool.close()
    }

    @Test func `an outage under a frozen clock has no length`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.freeze(at: start)
        try await fixture.running(Punctual.self, ()) { runtime in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            _ = try await runtime.submit(.ring(after: .seconds(30), to: "a"))
        }
        try await fixture.pass(real: 60, until: start)
        try await fixture.running(Punctual.self, ()) { _ in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            try await fixture.waitForLog(at: at(30)) { $0.contains { $0.type == Rang.type } }
            #expect(try await fixture.log().map(\.type) == [RingSet.type, Rang.type])
        }
        await fixture.pool.close()
    }

    @Test func `several batches notify each aggregate once, even after a crash`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = fixture.devices(450, inPartition: 0)
        try await fixture.freeze(at: start)
        try await fixture.running(Punctual.self, ()) { runtime in
            try await eventuallyTrue { try await fixture.owners() == [fixture.partitions] }
            // A partition queues fewer commands than that.
            for half in [devices.prefix(225), devices.dropFirst(225)] {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for device in half {
                        group.addTask { _ = try await runtime.submit(.ring(after: .seconds(30), to: device)) }
                    }
                    try await group.waitForAll()
                }
            }
        }
        try await fixture.pass(real: 60, until: at(60))
        try await fixture.running(Punctual.self, ()) { _ in
            try await fixture.waitForLog { $0.count { $0.type == OutageCounted.type } == devices.count }
            try await eventuallyTrue { try await fixture.outages() == 0 }
            // As if the batch that removed the outage had not been committed.
            try await fixture.record(from: start, until: at(60))
            try await eventuallyTrue { try await fixture.outages() == 0 }
            let noted = try await fixture.log().filter { $0.type == OutageCounted.type }
            #expect(noted.count == devices.count)
            #expect(Set(noted.map(\.key)).count == devices.count)
            #expect(try await !fixture.log().contains { $0.type == Rang.type })
        }
        await fixture.pool.close()
    }

    /// Before a lease is acquired, the command itself notifies the device of the outage.
    @Test(arguments: [false, true])
    func `a command fires no deadline that an outage has extended`(_ survived: Bool) async throws {
        let fixture = try await RuntimeFixture()
        let engine = fixture.engine(of: Punctual.self)
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.freeze(at: start)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await engine.run() }
            _ = try await engine.submit(.ring(after: .seconds(30), to: device))
            try await fixture.cluster.sql(
                """
                UPDATE bus.cursors SET owner = gen_random_uuid(), lease_expires = clock_timestamp() + interval '1 minute',
                    served_at = clock_timestamp() - interval '2 seconds', served_time = \(start.milliseconds);
                """, database: fixture.database)
            if survived {
                // Another member lived throughout, so the device could call the service.
                try await fixture.cluster.sql(
                    """
                    INSERT INTO bus.members
                    VALUES ('counter', gen_random_uuid(), '2000-01-01', 0, clock_timestamp() + interval '5.5 seconds')
                    """, database: fixture.database)
            }
            try await fixture.freeze(at: at(60))
            _ = try await engine.submit(.add(1, to: device))
            _ = try await engine.submit(.add(1, to: device))
            let middle = survived ? Rang.type : OutageCounted.type
            #expect(try await fixture.log().map(\.type) == [RingSet.type, middle, Added.type, Added.type])
            await engine.stop()
            try await group.waitForAll()
        }
        await fixture.pool.close()
    }

    @Test func `events around an outage are in the order of their times`() throws {
        var batch = Batch<Punctual>()
        let key = AggregateKey.device("a")
        batch.run(.ring(after: .seconds(30), to: "a"), at: start, stored: [:])
        batch.outage = Outage(from: start, until: at(60))
        let id = UUID()
        let ping = Event(
            id: id, source: "other", type: "other.thing.pinged", version: 1, key: key, app: nil, time: at(40),
            correlation: id, causation: nil, traceparent: nil, data: Array("{}".utf8))
        let isTaken = batch.run(ping) && batch.run(deadlinesOf: key, until: at(61))
        #expect(isTaken)
        #expect(
            batch.events.map(\.type) == [RingSet.type, OutageCounted.type, PingCounted.type, OutageCounted.type])
        #expect(batch.events.map(\.time) == [start, at(40), at(40), at(60)])
        #expect(batch.aggregates[key]?.nextDeadline == at(90))
    }

    @Test func `an outage that can't be applied parks only its device`() throws {
        var batch = Batch<Punctual>()
        for device in ["a", "b"] { batch.run(.ring(after: .seconds(30), to: device), at: start, stored: [:]) }
        batch.outage = Outage(from: start, until: at(60))
        batch.condemned[Batch<Punctual>.name(ofOutageFor: .device("a"), until: at(60))] = "it ended five processes"
        for device in ["a", "b"] {
            let isDelivered = batch.run(outageFor: .device(device))
            #expect(isDelivered)
        }
        #expect(batch.parkedInputs.map(\.key) == [.device("a")])
        #expect(batch.parkedInputs.first?.due == at(30))
        #expect(batch.events.last?.key == .device("b"))
        #expect(batch.events.last?.type == OutageCounted.type)
    }
}

extension Submission<Punctual> {
    static func add(_ amount: Int, to device: String) -> Submission { Submission(.add(amount), device) }
    static func ring(after interval: Interval, to device: String) -> Submission {
        Submission(.ring(after: interval), device)
    }

    private init(_ command: Counter.Command, _ device: String) {
        self.init(key: .device(device), command: command, origin: .named()) { _, _ in [] }
    }
}

extension RuntimeFixture {
    /// Freezes the suite's clock at a time.
    func freeze(at moment: Instant) async throws {
        let all = (0..<partitions).map(String.init).joined(separator: ",")
        _ = try await pool.execute([
            Query(
                Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = $1"),
                [.int(Int(moment.milliseconds))]),
            Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:" + all)]),
        ])
    }

    /// Waits at a time of a frozen clock and repeats the wake-up, because no ClockFollower runs here and wake-ups can
    /// get lost.
    func waitForLog(at moment: Instant, _ condition: @Sendable @escaping ([Event]) -> Bool) async throws {
        try await eventuallyTrue {
            try await freeze(at: moment)
            return try await condition(log())
        }
    }

    /// Simulates a number of real seconds without a living member.
    func pass(real seconds: Int, until moment: Instant) async throws {
        try await cluster.sql(
            """
            UPDATE bus.cursors SET served_at = served_at - interval '\(seconds) seconds';
            DELETE FROM bus.members
            """, database: database)
        try await freeze(at: moment)
    }

    /// Returns the number of partitions with a stored outage.
    func outages() async throws -> Int {
        try await pool.execute(Query(Statement("SELECT count(*) FROM bus.cursors WHERE outage IS NOT NULL")))[0].decode(
            Int.self)
    }

    func record(from: Instant, until: Instant) async throws {
        _ = try await pool.execute(
            Query(
                Statement("UPDATE bus.cursors SET outage = int8range($1, $2)"),
                [.int(Int(from.milliseconds)), .int(Int(until.milliseconds))]))
    }

    func devices(_ count: Int, inPartition partition: Int) -> [String] {
        let all = (0..<100_000).lazy.map { "n\($0)" }
        return Array(all.filter { AggregateKey.device($0).partition(of: partitions) == partition }.prefix(count))
    }
}
