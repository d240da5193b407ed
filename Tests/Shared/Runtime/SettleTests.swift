import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Commits with a lost answer, and how the engine finds their result.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct SettleTests {
    private let statements = Statements(service: Counter.name)

    @Test func `a batch with commands is found in the log behind later batches`() async throws {
        try await withEngine { fixture, engine, device in
            var batch = batch()
            batch.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(batch, at: 0, fixture)
            // A batch of another replica, which needs no lease for a command.
            var other = self.batch()
            other.aggregates = batch.aggregates
            other.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(other, at: 1, fixture)
            #expect(await engine.settle(unknown(batch)) == .committed(head: 1))
        }
    }

    @Test func `a batch that is not in the log runs again`() async throws {
        try await withEngine { fixture, engine, device in
            var lost = batch()
            lost.run(.add(1, to: device), at: .epoch, stored: [:])
            var other = batch()
            other.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(other, at: 0, fixture)
            #expect(await engine.settle(unknown(lost)) == .notCommitted)
        }
    }

    @Test func `a batch without commands is recognised by the cursor`() async throws {
        try await withEngine { fixture, engine, device in
            let id = try await fixture.append(to: device)
            let event = try #require(try await fixture.log().first { $0.id == id })
            var batch = batch()
            _ = batch.run(event)
            #expect(batch.inputs == 1)
            #expect(batch.probe == nil)
            try await commit(batch, at: 1, fixture)
            #expect(await engine.settle(unknown(batch)) == .committed(head: 2))
            #expect(await engine.settle(unknown(self.batch())) == .notCommitted)
        }
    }

    @Test func `a derived origin is not a probe for an unknown commit`() async throws {
        try await withEngine { fixture, engine, device in
            func broadcast() -> Submission<Counter> {
                var submission = Submission<Counter>.add(1, to: device)
                submission.origin = Origin(derivedID: DecisionIdentifiers.derived("broadcast", device))
                return submission
            }
            var lost = batch()
            lost.run(broadcast(), at: .epoch, stored: [:])
            // The same command, decided in the same millisecond by another replica.
            var other = batch()
            other.run(broadcast(), at: .epoch, stored: [:])
            #expect(lost.events.map(\.id) == other.events.map(\.id))
            try await commit(other, at: 0, fixture)
            #expect(await engine.settle(unknown(lost)) == .unknown)
            // Nothing was committed since this batch was decided.
            #expect(await engine.settle(unknown(lost, lastBatch: other.id)) == .notCommitted)
            // Together with a command with a unique id, the batch has a probe.
            var mixed = batch()
            mixed.aggregates = other.aggregates
            mixed.run(broadcast(), at: .epoch, stored: [:])
            mixed.run(.add(1, to: device), at: .epoch, stored: [:])
            #expect(mixed.probe?.index == 1)
        }
    }

    private func batch() -> Batch<Counter> { Batch<Counter>() }

    /// - Parameter lastBatch: the last batch of the cursor when the batch was decided.
    private func unknown(_ batch: Batch<Counter>, lastBatch: UUID? = nil) -> SettleRequest {
        var input = BatchInput<Counter>()
        input.lastBatch = lastBatch
        return SettleRequest(partition: 0, batch: batch, after: input)
    }

    private func commit(_ batch: Batch<Counter>, at position: Int, _ fixture: RuntimeFixture) async throws {
        _ = try await fixture.pool.execute(
            [Query(statements.begin)] + batch.pipeline(statements, position: position, epoch: nil))
    }

    private func withEngine(
        _ body: (RuntimeFixture, BatchEngine<Counter>, String) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await body(fixture, fixture.engine(), try #require(fixture.oneDeviceInEach.first))
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// The batches of a replica, without its other parts.
    func engine() -> BatchEngine<Counter> { engine(of: Counter.self) }

    func engine<M: Machine>(of: M.Type) -> BatchEngine<M> where M.Policy == Void {
        BatchEngine(
            partitions: partitions, pool: pool, clock: SharedClock(), policy: (),
            wakeUps: WakeUpSender(pool: pool, sender: UUID(), logger: logger), budget: StateBudget(1 << 20),
            logger: logger)
    }
}
