import Contracts
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Records
import Runtime
import ServiceLifecycle
import TestSupport
import Testing
import Timeline

@Suite(.tags(.database)) struct DurableRuntimeTests {
    @Test func `every acknowledged command is in the log once, and offsets are dense`() async throws {
        try await withRuntime { fixture, runtime in
            try await addConcurrently(1000, to: 40, runtime)
            let events = try await fixture.log()
            #expect(events.filter { $0.type == Added.type }.count == 1000)
            for partition in 0..<fixture.partitions {
                let offsets = events.filter { $0.partition == partition }.map(\.offset)
                #expect(offsets == (0..<offsets.count).map { $0 + 1 })
            }
            for device in 0..<40 {
                #expect(try await runtime.foldCheck(.device("d\(device)")))
                #expect(try await runtime.state(.device("d\(device)"))?.aggregate.state.total == 25)
            }
        }
    }

    @Test func `a refusal fails only its command and changes nothing`() async throws {
        try await withRuntime { fixture, runtime in
            async let good = runtime.submit(.add(3, to: "a"))
            await #expect(throws: Counter.Refusal.self) {
                try await runtime.submit(Submission(.addThenRefuse, to: "a"))
            }
            let body = try await good.body
            #expect(String(decoding: body, as: UTF8.self) == "3")
            #expect(try await fixture.log().count == 1)
        }
    }

    @Test func `commands with the same idempotency key run once and get the same answer`() async throws {
        try await withRuntime { fixture, runtime in
            var command = Submission<Counter>.add(5, to: "a")
            command.idempotency = Idempotency(key: "k", fingerprint: [1])
            let first = try await runtime.submit(command)
            _ = try await runtime.submit(.add(1, to: "a"))
            let second = try await runtime.submit(command)
            #expect(second.body == first.body)
            #expect(second.isReplay && !first.isReplay)
            #expect(try await fixture.log().count == 2)
            command.idempotency = Idempotency(key: "k", fingerprint: [2])
            let other = command
            await #expect(throws: RuntimeError.idempotencyConflict) { try await runtime.submit(other) }
        }
    }

    @Test func `a deadline fires without another input, as of its due time`() async throws {
        try await withRuntime { fixture, runtime in
            _ = try await runtime.submit(Submission(.ring(after: .milliseconds(50)), to: "a"))
            try await fixture.waitForLog { $0.contains { $0.type == Rang.type } }
            let events = try await fixture.log()
            let rang = try #require(events.first { $0.type == Rang.type })
            let due = try Rang(jsonBytes: rang.data).due
            #expect(due == rang.time)
            #expect(try await runtime.foldCheck(.device("a")))
        }
    }

    @Test func `each event of another service is processed once`() async throws {
        try await withRuntime { fixture, runtime in
            for number in 0..<300 { try await fixture.append(to: "d\(number % 10)") }
            try await fixture.waitForLog { $0.count { $0.type == PingCounted.type } >= 300 }
            let counted = try await fixture.log().filter { $0.type == PingCounted.type }
            #expect(counted.count == 300)
            #expect(Set(counted.compactMap(\.causation)).count == 300)
            #expect(try await runtime.state(.device("d0"))?.aggregate.state.pings == 30)
        }
    }

    @Test func `rare events are reached in bounded steps`() async throws {
        let fixture = try await RuntimeFixture()
        let device = try #require(fixture.oneDeviceInEach.first)
        try await fixture.cluster.sql(
            """
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT 0, n, current_date, gen_random_uuid(), 'other', 'other.thing.ignored', 1, 'device:x', 0,
                gen_random_uuid(), '{}' FROM generate_series(1, 45000) AS n;
            UPDATE bus.partitions SET head = 45000 WHERE partition = 0;
            """, database: fixture.database)
        let ping = try await fixture.append(to: device)
        let types = Parameter.texts(Counter.follows.sorted())
        for (offset, found) in [(0, 0), (20_000, 0), (25_000, 0), (25_001, 1)] {
            let rows = try await fixture.pool.execute(
                Query(LogReader.following, [.int4(0), .int(offset), types, .int(10)]))
            #expect(rows.count == found)
        }
        try await fixture.running { runtime in
            try await fixture.counted([ping])
            #expect(try await runtime.hasReached(partition: 0, offset: 45_002, within: .seconds(60)))
        }
        await fixture.pool.close()
    }

    @Test func `two replicas share the partitions and handle each event once`() async throws {
        try await withRuntime { fixture, first in
            try await fixture.running { second in
                try await eventuallyTrue { await [first.ownedPartitions, second.ownedPartitions] == [2, 2] }
                for number in 0..<200 {
                    try await fixture.append(to: "d\(number % 10)")
                    _ = try await (number % 2 == 0 ? first : second).submit(.add(1, to: "d\(number % 10)"))
                }
                try await fixture.waitForLog { $0.count { $0.type == PingCounted.type } >= 200 }
            }
            // The second replica stopped, so the first takes its partitions over.
            try await eventuallyTrue { await first.ownedPartitions == fixture.partitions }
            try await fixture.append(to: "d1")
            try await fixture.waitForLog { $0.count { $0.type == PingCounted.type } >= 201 }
            let counted = try await fixture.log().filter { $0.type == PingCounted.type }
            #expect(Set(counted.compactMap(\.causation)).count == counted.count)
            for device in 0..<10 { #expect(try await first.foldCheck(.device("d\(device)"))) }
        }
    }

    @Test func `a process with another partition count fails with a remedy`() async throws {
        try await withRuntime { fixture, _ in
            let connection = try await Connection.open(try ConnectionOptions(url: fixture.url), logger: fixture.logger)
            await #expect(throws: LogError.wrongPartitionCount(configured: 7, inDatabase: fixture.partitions)) {
                try await LogSchema.verify(connection, partitions: 7)
            }
            await connection.close()
        }
    }

    private func addConcurrently(_ count: Int, to devices: Int, _ runtime: DurableRuntime<Counter>) async throws {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<count {
                let command = Submission<Counter>.add(1, to: "d\(number % devices)")
                group.addTask { try await runtime.submit(command) }
            }
            for try await _ in group {}
        }
    }

    private func withRuntime(
        _ body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { try await body(fixture, $0) }
        await fixture.pool.close()
    }
}
