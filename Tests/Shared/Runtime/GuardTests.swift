import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Statements that find unexpected rows fail before the COMMIT of the same pipeline.
@Suite struct GuardTests {
    @Test func `a batch under a lost lease is not committed`() async throws {
        try await withBatch { bench, batch in
            let calls = batch.flight(Statements(service: Counter.name), position: 0, epoch: 7)
            try await expectGuard(bench, calls)
        }
    }

    @Test func `an unregistered consumer commits nothing`() async throws {
        try await withBatch { bench, batch in
            _ = try await bench.pool.run(Call(Statement("DELETE FROM bus.cursors")))
            try await expectGuard(bench, batch.flight(Statements(service: Counter.name), position: 0, epoch: nil))
        }
    }

    @Test func `an append to an unknown partition commits nothing`() async throws {
        try await withBatch { bench, batch in
            _ = try await bench.pool.run(Call(Statement("DELETE FROM bus.partitions WHERE partition = 0")))
            try await expectGuard(bench, batch.flight(Statements(service: Counter.name), position: 0, epoch: nil))
        }
    }

    @Test func `a state that another process has written meanwhile is not overwritten`() async throws {
        try await withBatch { bench, batch in
            let statements = Statements(service: Counter.name)
            _ = try await bench.pool.run(
                [Call(statements.begin)] + batch.flight(statements, position: 0, epoch: nil))
            // Decided from the same state, without the first change.
            let stale = try self.batch(bench)
            try await expectGuard(bench, stale.flight(statements, position: 1, epoch: nil), eventsBefore: 1)
        }
    }

    @Test func `a state with another event count than the decided one is not overwritten, even with more events`()
        async throws
    {
        try await withBatch { bench, batch in
            let statements = Statements(service: Counter.name)
            _ = try await bench.pool.run(
                [Call(statements.begin)] + batch.flight(statements, position: 0, epoch: nil))
            var stale = try self.batch(bench)
            stale.run(.add(1, to: try #require(bench.oneDeviceInEach.first)), at: .epoch, stored: [:])
            try await expectGuard(bench, stale.flight(statements, position: 1, epoch: nil), eventsBefore: 1)
        }
    }

    private func withBatch(_ body: (RuntimeBench, Batch<Counter>) async throws -> Void) async throws {
        let bench = try await RuntimeBench()
        try await body(bench, try batch(bench))
        await bench.pool.close()
    }

    private func batch(_ bench: RuntimeBench) throws -> Batch<Counter> {
        var batch = Batch<Counter>()
        batch.run(.add(1, to: try #require(bench.oneDeviceInEach.first)), at: .epoch, stored: [:])
        return batch
    }

    private func expectGuard(_ bench: RuntimeBench, _ calls: [Call], eventsBefore: Int = 0) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await bench.pool.run([Call(Statement("BEGIN"))] + calls)
        }
        #expect(error?.sqlState == "DM001")
        #expect(try await bench.log().count == eventsBefore)
    }
}
