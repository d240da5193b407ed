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

extension PartitionWorker {
    /// Takes back refusals about aggregates with unread events. It makes no query if the log was read to its head, or
    /// if the batch has no refusals.
    func suspendRefusals(
        of submissions: [Submission<M>], _ first: BatchInput<M>, _ batch: inout Batch<M>, _ connection: Connection
    ) async throws {
        guard first.position < first.head, !M.follows.isEmpty else { return }
        let refused = submissions.indices.filter { index in
            guard case .refused(let error) = batch.verdicts[index], !(error is RuntimeError) else { return false }
            return submissions[index].settledAt.map { first.position < $0 } ?? true
        }
        guard !refused.isEmpty else { return }
        let keys = Set(refused.map { submissions[$0].key.description }).sorted()
        let rows = try await connection.execute(
            Statements.unreadOf, .partition(partition), .int(first.position), .int(first.head), .texts(keys),
            .texts(M.follows.sorted()))
        let unread = Dictionary(uniqueKeysWithValues: try rows.decode((AggregateKey, Int).self))
        for index in refused {
            guard let last = unread[submissions[index].key] else { continue }
            batch.overrule(index, by: .refused(EarlyRefusal(unread: submissions[index].settledAt ?? last)))
        }
    }

    /// Makes the next batch read the log at once.
    ///
    /// - Returns: false if this process can't: another one has the lease, or the log can't be consumed.
    func readsAtOnce() -> Bool {
        wake()
        return isAboutToRead
    }
}

extension DurableRuntime {
    /// The longest time that a command waits for its service to read the log before its refusal is final.
    public static var settlingTime: Duration { .seconds(2) }

    /// Waits until the cursor has passed the unread events, and submits the command again.
    func submitAgain(_ submission: Submission<M>, after early: EarlyRefusal) async throws -> Answer {
        let end = ContinuousClock.now + Self.settlingTime
        let worker = worker(of: submission.key)
        var again = submission
        again.settledAt = early.unread
        while true {
            // The lease's owner reads and decides in one batch. Elsewhere the command waits for the owner.
            if await !worker.readsAtOnce() {
                let isRead = try await hasReached(partition: worker.partition, offset: early.unread, by: end)
                guard isRead else { throw RuntimeError.behind }
            }
            do { return try await worker.submit(again) } catch is EarlyRefusal {
                guard .now < end else { throw RuntimeError.behind }
            }
        }
    }

    /// Waits until this service has read every event about an aggregate that is in the log now. A state that the caller
    /// read before may be stale, even if no event was unread.
    ///
    /// - Throws: ``RuntimeError/behind`` after ``settlingTime``; `PostgresError`.
    public func catchUp(with key: AggregateKey) async throws {
        let worker = worker(of: key)
        let rows = try await pool.execute(
            Statements.unread, .partition(worker.partition), .text(M.name), .key(key), .texts(M.follows.sorted()),
            rowsExpected: 1)
        guard let unread = try rows[0].decode(Int?.self) else { return }
        await worker.wake()
        let end = ContinuousClock.now + Self.settlingTime
        guard try await hasReached(partition: worker.partition, offset: unread, by: end) else {
            throw RuntimeError.behind
        }
    }
}
