import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Statements that find unexpected rows fail before the COMMIT of the same pipeline.
@Suite(.tags(.database)) struct GuardTests {
    @Test func `a batch under a lost lease is not committed`() async throws {
        try await withBatch { fixture, batch in
            let queries = batch.pipeline(Statements(service: Counter.name), position: 0, epoch: 7)
            try await expectGuard(fixture, queries)
        }
    }

    @Test func `an unregistered consumer commits nothing`() async throws {
        try await withBatch { fixture, batch in
            _ = try await fixture.pool.execute(Query(Statement("DELETE FROM bus.cursors")))
            try await expectGuard(fixture, batch.pipeline(Statements(service: Counter.name), position: 0, epoch: nil))
        }
    }

    @Test func `an append to an unknown partition commits nothing`() async throws {
        try await withBatch { fixture, batch in
            _ = try await fixture.pool.execute(Query(Statement("DELETE FROM bus.partitions WHERE partition = 0")))
            // The event would have no day, and the table has no part for it.
            try await expectGuard(
                fixture, batch.pipeline(Statements(service: Counter.name), position: 0, epoch: nil), sqlState: "23514")
        }
    }

    @Test func `a state that another process has written meanwhile is not overwritten`() async throws {
        try await withBatch { fixture, batch in
            let statements = Statements(service: Counter.name)
            _ = try await fixture.pool.execute(
                [Query(statements.begin)] + batch.pipeline(statements, position: 0, epoch: nil))
            // Decided from the same state, without the first change.
            let stale = try self.batch(fixture)
            try await expectGuard(fixture, stale.pipeline(statements, position: 1, epoch: nil), eventsBefore: 1)
        }
    }

    @Test func `a state with another event count than the decided one is not overwritten, even with more events`()
        async throws
    {
        try await withBatch { fixture, batch in
            let statements = Statements(service: Counter.name)
            _ = try await fixture.pool.execute(
                [Query(statements.begin)] + batch.pipeline(statements, position: 0, epoch: nil))
            var stale = try self.batch(fixture)
            stale.run(.add(1, to: try #require(fixture.oneDeviceInEach.first)), at: .epoch, stored: [:])
            try await expectGuard(fixture, stale.pipeline(statements, position: 1, epoch: nil), eventsBefore: 1)
        }
    }

    private func withBatch(_ body: (RuntimeFixture, Batch<Counter>) async throws -> Void) async throws {
        let fixture = try await RuntimeFixture()
        try await body(fixture, try batch(fixture))
        await fixture.pool.close()
    }

    private func batch(_ fixture: RuntimeFixture) throws -> Batch<Counter> {
        var batch = Batch<Counter>()
        batch.run(.add(1, to: try #require(fixture.oneDeviceInEach.first)), at: .epoch, stored: [:])
        return batch
    }

    private func expectGuard(
        _ fixture: RuntimeFixture, _ queries: [Query], eventsBefore: Int = 0, sqlState: String = "DM001"
    ) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.pool.execute([Query(Statement("BEGIN"))] + queries)
        }
        #expect(error?.sqlState == sqlState)
        #expect(try await fixture.log().count == eventsBefore)
    }
}
