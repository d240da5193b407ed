import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Commits with a lost answer, and how the worker finds their result.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct SettleTests {
    private let statements = Statements(service: Counter.name)

    @Test func `a batch with commands is found in the log behind later batches`() async throws {
        try await withWorker { fixture, worker, device in
            var batch = batch()
            batch.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(batch, at: 0, fixture)
            // A batch of another replica, which needs no lease for a command.
            var other = self.batch()
            other.aggregates = batch.aggregates
            other.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(other, at: 1, fixture)
            let done = try #require(try await worker.settle(unknown(batch)))
            #expect(done.head == 1)
            #expect(done.batch.verdicts.count == 1)
        }
    }

    @Test func `a batch that is not in the log runs again`() async throws {
        try await withWorker { fixture, worker, device in
            var lost = batch()
            lost.run(.add(1, to: device), at: .epoch, stored: [:])
            var other = batch()
            other.run(.add(1, to: device), at: .epoch, stored: [:])
            try await commit(other, at: 0, fixture)
            #expect(try await worker.settle(unknown(lost)) == nil)
        }
    }

    @Test func `a batch without commands is recognised by the cursor`() async throws {
        try await withWorker { fixture, worker, device in
            let id = try await fixture.append(to: device)
            let event = try #require(try await fixture.log().first { $0.id == id })
            var batch = batch()
            _ = batch.run(event)
            #expect(batch.inputs == 1)
            #expect(batch.probe == nil)
            try await commit(batch, at: 1, fixture)
            #expect(try await worker.settle(unknown(batch)) != nil)
            #expect(try await worker.settle(unknown(self.batch())) == nil)
        }
    }

    @Test func `a derived origin is not a probe for an unknown commit`() async throws {
        try await withWorker { fixture, worker, device in
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
            #expect(try await worker.settle(unknown(lost)) == nil)
            // Together with a command with a unique id, the batch has a probe.
            var mixed = batch()
            mixed.aggregates = other.aggregates
            mixed.run(broadcast(), at: .epoch, stored: [:])
            mixed.run(.add(1, to: device), at: .epoch, stored: [:])
            #expect(mixed.probe?.index == 1)
        }
    }

    private func batch() -> Batch<Counter> { Batch<Counter>() }

    private func unknown(_ batch: Batch<Counter>) -> UnknownCommit<Counter> {
        UnknownCommit(done: .init(batch: batch, head: 0, lastBatch: batch.id), headBefore: 0)
    }

    private func commit(_ batch: Batch<Counter>, at position: Int, _ fixture: RuntimeFixture) async throws {
        _ = try await fixture.pool.execute(
            [Query(statements.begin)] + batch.pipeline(statements, position: position, epoch: nil))
    }

    private func withWorker(
        _ body: (RuntimeFixture, PartitionWorker<Counter>, String) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await body(fixture, fixture.worker(), try #require(fixture.oneDeviceInEach.first))
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// A partition's worker, without the rest of a replica.
    func worker() -> PartitionWorker<Counter> { worker(of: Counter.self) }

    func worker<M: Machine>(of: M.Type, partition: Int = 0) -> PartitionWorker<M> where M.Policy == Void {
        PartitionWorker(
            partition: partition, of: partitions, pool: pool, clock: SharedClock(), policy: (),
            wakeUps: WakeUpSender(pool: pool, sender: UUID(), logger: logger),
            trials: AsyncSemaphore(1),
            semaphore: AsyncSemaphore(1), budget: StateBudget(1 << 20), logger: logger)
    }
}
