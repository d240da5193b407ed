import Contracts
import Machines
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Events and states of other versions of the program.
extension PoisonTests {
    @Test func `an event of a newer version halts its partition and is no dead letter`() async throws {
        try await withBrittle { fixture, runtime, _ in
            let devices = fixture.oneDeviceInEach
            try await fixture.counted([try await fixture.append(to: devices[0])])
            try await fixture.append(version: 2, to: devices[0])
            try await fixture.append(to: devices[0])
            let others = [try await fixture.append(to: devices[1]), try await fixture.append(to: devices[2])]
            try await fixture.counted(others)
            try await eventuallyTrue {
                if case .halted = await runtime.partitionStates[0] { true } else { false }
            }
            // Commands continue, and newer replicas can take the lease.
            _ = try await runtime.submit(.add(1, to: devices[0]))
            try await eventuallyTrue { try await fixture.owners() == [3] }
            #expect(try await runtime.deadLetters().isEmpty)
            let counted = try await fixture.log().filter {
                $0.key == .device(devices[0]) && $0.type == PingCounted.type
            }
            #expect(counted.count == 1)
        }
    }

    @Test func `a state of an older machine is folded again`() async throws {
        try await withBrittle { fixture, runtime, _ in
            _ = try await runtime.submit(.add(4, to: "a"))
            _ = try await fixture.pool.execute(
                Query(Statement(#"UPDATE counter.states SET machine_version = 0, state = '\x00'"#)))
            #expect(try await runtime.state(.device("a"))?.aggregate.state.counter.total == 4)
            // Invalidates the process's cache of the partition.
            _ = try await fixture.pool.execute(
                Query(Statement("UPDATE bus.cursors SET last_batch = gen_random_uuid()")))
            let answer = try await runtime.submit(.add(5, to: "a"))
            #expect(String(decoding: answer.body, as: UTF8.self) == "9")
            #expect(try await runtime.foldCheck(.device("a")))
        }
    }

    @Test func `a state of a newer machine stays unchanged`() async throws {
        try await withBrittle { fixture, runtime, _ in
            _ = try await runtime.submit(.add(4, to: "a"))
            _ = try await fixture.pool.execute([
                Query(Statement("UPDATE counter.states SET machine_version = 2")),
                Query(Statement("UPDATE bus.cursors SET last_batch = gen_random_uuid()")),
            ])
            await #expect(throws: RuntimeError.newerState(key: .device("a"), version: 2)) {
                try await runtime.submit(.add(5, to: "a"))
            }
            try await fixture.append(to: "a")
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            try await eventuallyTrue {
                if case .halted = await runtime.partitionStates[partition] { true } else { false }
            }
            #expect(try await runtime.deadLetters().isEmpty)
        }
    }
}
