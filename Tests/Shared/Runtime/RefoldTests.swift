import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Runtime
import TestSupport
import Testing
import Timeline

/// States of an older machine, if the log may no longer have the whole history.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct RefoldTests {
    private let key = AggregateKey.device("a")

    @Test func `a state of an older machine is folded from its base snapshot`() async throws {
        try await withTotalOfThree { fixture, runtime in
            try await fixture.cluster.sql(
                """
                INSERT INTO bus.snapshots
                    (partition, key, service, log_offset, machine_version, state, event_count, decided_at, is_base)
                SELECT partition, key, 'counter', version, machine_version, state, event_count, decided_at, true
                FROM counter.states
                """, database: fixture.database)
            _ = try await runtime.submit(.add(4, to: "a"))
            try await makeOld(fixture, dropUpTo: 2)
            #expect(try await runtime.state(key)?.aggregate.state.total == 7)
            let answer = try await runtime.submit(.add(5, to: "a"))
            #expect(String(decoding: answer.body, as: UTF8.self) == "12")
            #expect(try await runtime.foldCheck(key))
        }
    }

    @Test func `an incomplete history gives no state`() async throws {
        try await withTotalOfThree { fixture, runtime in
            try await makeOld(fixture, dropUpTo: 1)
            let malformed = RuntimeError.malformedState(key: key)
            await #expect(throws: malformed) { try await runtime.state(key) }
            await #expect(throws: malformed) { try await runtime.submit(.add(5, to: "a")) }
        }
    }

    @Test func `a machine can upgrade an older state without the log`() async throws {
        try await withTotalOfThree { fixture, _ in
            try await fixture.cluster.sql("DELETE FROM bus.events", database: fixture.database)
            try await fixture.running(LaterCounter.self, ()) { later in
                #expect(try await later.state(key)?.aggregate.state.counter.total == 3)
                let command = Submission<LaterCounter>(key: key, command: .add(5), origin: Origin(id: UUID())) {
                    aggregate, _ in Array(String(aggregate.state.counter.total).utf8)
                }
                let answer = try await later.submit(command)
                #expect(String(decoding: answer.body, as: UTF8.self) == "8")
            }
            let versions = Statement("SELECT machine_version::int8 FROM counter.states")
            #expect(try await fixture.pool.execute(Query(versions)).map { try $0.decode(Int.self, at: 0) } == [2])
        }
    }

    @Test func `a new replica takes the partitions that an old one leaves`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { old in
            try await fixture.counted(try await fixture.pingEachPartition())
            var pings: [UUID] = []
            for device in fixture.oneDeviceInEach { pings.append(try await fixture.append(version: 2, to: device)) }
            try await eventuallyTrue { await old.ownedPartitions == 0 }
            let newer = pings
            try await fixture.running(LaterCounter.self, ()) { new in
                try await eventuallyTrue { await new.ownedPartitions == fixture.partitions }
                try await fixture.counted(newer)
            }
        }
        await fixture.pool.close()
    }

    /// Marks the state as one of an older machine, and invalidates the cache.
    private func makeOld(_ fixture: RuntimeFixture, dropUpTo offset: Int) async throws {
        try await fixture.cluster.sql(
            """
            DELETE FROM bus.events WHERE log_offset <= \(offset);
            UPDATE counter.states SET machine_version = 0, state = '\\x00';
            UPDATE bus.cursors SET last_batch = gen_random_uuid();
            """, database: fixture.database)
    }

    private func withTotalOfThree(
        _ body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            _ = try await runtime.submit(.add(1, to: "a"))
            _ = try await runtime.submit(.add(2, to: "a"))
            try await body(fixture, runtime)
        }
        await fixture.pool.close()
    }
}
