import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Testing
import Timeline

/// Reads of past states.
@Suite("Time travel", .tags(.database), .timeLimit(.minutes(2))) struct TimeTravelTests {
    private let key = AggregateKey.device("a")

    /// Counts `total` up, with other keys' events in between. The time of an event is its offset in seconds, plus one
    /// second.
    private func counted(
        to count: Int,
        _ body: @Sendable @escaping (RuntimeFixture, TimeTravel<Counter>, _ own: [Event]) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        let stranger = (0..<100).lazy.map { "s\($0)" }.first { other in
            AggregateKey.device(other).partition(of: fixture.partitions) == key.partition(of: fixture.partitions)
        }
        let neighbour = try #require(stranger)
        try await fixture.running { runtime in
            for _ in 0..<count {
                _ = try await runtime.submit(.add(1, to: "a"))
                _ = try await runtime.submit(.add(100, to: neighbour))
            }
        }
        try await fixture.cluster.sql(
            """
            UPDATE bus.events SET time = (log_offset / 4) * 1000;
            UPDATE counter.states SET decided_at = version / 4 * 1000
            """,
            database: fixture.database)
        let own = try await fixture.log().filter { $0.key == key }
        try await body(fixture, TimeTravel { try await fixture.pool.execute($0) }, own)
        await fixture.pool.close()
    }

    private func partition(_ fixture: RuntimeFixture) -> Int { key.partition(of: fixture.partitions) }

    @Test func `a read at an offset returns the state at this offset`() async throws {
        try await counted(to: 12) { fixture, travel, own in
            for offset in 0...(own.last?.offset ?? 0) + 3 {
                let past = try await travel.aggregate(key, partition: partition(fixture), at: .offset(offset))
                let history = own.filter { $0.offset <= offset }
                #expect(past?.aggregate.state.total == (history.isEmpty ? nil : history.count))
                #expect(past?.aggregate.eventCount == (history.isEmpty ? nil : history.count))
                #expect(past?.offset == history.last?.offset && past?.aggregate.now == history.last?.time)
            }
        }
    }

    @Test func `a read at a time has all events up to this time`() async throws {
        try await counted(to: 12) { fixture, travel, own in
            let last = try #require(own.last?.time.milliseconds)
            for milliseconds in stride(from: Int64(-500), through: last + 1000, by: 500) {
                let time = Instant(milliseconds: milliseconds)
                let past = try await travel.aggregate(key, partition: partition(fixture), at: .time(time))
                let history = own.filter { $0.time <= time }
                #expect(past?.aggregate.state.total == (history.isEmpty ? nil : history.count), "\(time)")
                #expect(past?.offset == history.last?.offset)
            }
        }
    }

    @Test func `long histories are read in pages`() async throws {
        let fixture = try await RuntimeFixture()
        let count = 2500
        try await fixture.running { runtime in
            try await runtime.addOnes(count, to: "a")
        }
        let travel = TimeTravel<Counter> { try await fixture.pool.execute($0) }
        let past = try await travel.aggregate(key, partition: partition(fixture), at: .offset(.max))
        #expect(past?.aggregate.state.total == count)
        await fixture.pool.close()
    }

    /// A history without its first half, with a snapshot after it.
    private func dropped(_ fixture: RuntimeFixture, _ own: [Event], after count: Int, version: Int = 1) async throws
        -> Event
    {
        let last = own[count - 1]
        var counter = Counter()
        counter.total = count
        let state = counter.binary.map { String(format: "%02x", $0) }.joined()
        try await fixture.cluster.sql(
            """
            DELETE FROM bus.events WHERE partition = \(partition(fixture)) AND log_offset <= \(last.offset);
            INSERT INTO bus.snapshots
                (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
            VALUES (\(partition(fixture)), '\(key)', 'counter', \(last.offset), \(version), '\\x\(state)', \(count),
                \(last.time.milliseconds), true)
            """, database: fixture.database)
        return last
    }

    @Test func `a read of a dropped state fails, and one that never existed is nil`() async throws {
        try await counted(to: 12) { fixture, travel, own in
            let base = try await dropped(fixture, own, after: 6)
            let partition = partition(fixture)
            for event in own {
                let offset = try? await travel.aggregate(key, partition: partition, at: .offset(event.offset))
                let time = try? await travel.aggregate(key, partition: partition, at: .time(event.time))
                let isThere = event.offset >= base.offset
                #expect(offset?.aggregate.eventCount == (isThere ? own.count { $0.offset <= event.offset } : nil))
                #expect(offset?.aggregate.state.total == offset?.aggregate.eventCount)
                #expect(
                    time?.aggregate.eventCount == (event.time < base.time ? nil : own.count { $0.time <= event.time }))
            }
            let gone = BeyondRetention(earliest: base.time)
            await #expect(throws: gone) {
                try await travel.aggregate(key, partition: partition, at: .offset(base.offset - 1))
            }
            await #expect(throws: gone) {
                try await travel.aggregate(key, partition: partition, at: .time(base.time + .milliseconds(-1)))
            }
            let nobody = AggregateKey.device("nobody")
            let never = try await travel.aggregate(
                nobody, partition: nobody.partition(of: fixture.partitions), at: .offset(.max))
            #expect(never == nil)
        }
    }

    @Test func `an unreadable snapshot is an error`() async throws {
        try await counted(to: 4) { fixture, travel, own in
            _ = try await dropped(fixture, own, after: 2, version: 0)
            await #expect(throws: RuntimeError.malformedState(key: key)) {
                try await travel.aggregate(key, partition: partition(fixture), at: .offset(.max))
            }
        }
    }
}
