public import Contracts
import EventLog
import Machines
import Postgres

// Read your writes, without a header from the caller. A refusal may depend on a change that another service has already
// acknowledged, in an event that this service has not read yet. Such a refusal is not final. The command waits until
// the cursor has passed the last event about its aggregate, and is decided again. An accepted command never waits.

/// A refusal that an unread event may change.
struct EarlyRefusal: Error {
    /// The offset of the last event about the aggregate that was in the log at the decision.
    let unread: Int
}

extension BatchEngine {
    /// Makes the next batch of a partition read the log at once.
    ///
    /// - Returns: false if this process can't: another one has the lease, or the log can't be consumed.
    func readsAtOnce(_ partition: Int) -> Bool {
        machines[partition].look(now: .now)
        wake()
        return machines[partition].takesLog
    }
}

extension DurableRuntime {
    /// Waits until the cursor has passed the unread events, and submits the command again.
    func submitAgain(_ submission: Submission<M>, after early: EarlyRefusal) async throws -> Answer {
        let end = ContinuousClock.now + settlingTime
        let partition = engine.inbox(of: submission.key).partition
        var again = submission
        again.settledAt = early.unread
        while true {
            // The lease's owner reads and decides in one batch. Elsewhere the command waits for the owner.
            if await !engine.readsAtOnce(partition) {
                let isRead = try await hasReached(partition: partition, offset: early.unread, by: end)
                guard isRead else { throw RuntimeError.behind }
            }
            do { return try await engine.submit(again) } catch is EarlyRefusal {
                guard .now < end else { throw RuntimeError.behind }
            }
        }
    }

    /// Waits until this service has read every event about an aggregate that is in the log now. A state that the caller
    /// read before may be stale, even if no event was unread.
    ///
    /// - Throws: ``RuntimeError/behind`` after ``StallLimits/settling``; `PostgresError`.
    public func catchUp(with key: AggregateKey) async throws {
        let partition = engine.inbox(of: key).partition
        let rows = try await pool.execute(
            Statements.unread, .partition(partition), .text(M.name), .key(key), .texts(M.follows.sorted()),
            rowsExpected: 1)
        guard let unread = try rows[0].decode(Int?.self) else { return }
        engine.look(partition)
        let end = ContinuousClock.now + settlingTime
        guard try await hasReached(partition: partition, offset: unread, by: end) else {
            throw RuntimeError.behind
        }
    }
}
