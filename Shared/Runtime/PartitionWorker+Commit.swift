import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Timeline

/// An error: the connection was lost during the second pipeline, so the result of the commit is unknown.
struct UnknownCommit<M: Machine>: Error {
    let done: PartitionWorker<M>.BatchOutcome
    /// The partition's head before the batch. Its events have higher offsets.
    let headBefore: Int
}

/// An error: the database refused the data of a batch.
struct BadInput: Error {
    var inputs: Int
    /// The only input from the log in the batch; nil if it had more inputs, or commands.
    var name: String?
    var error: PostgresError
    /// Whether the fault can only be in the data. Otherwise the database may refuse every batch.
    var isProven = true
}

extension PostgresError {
    /// Whether the fault can only be in the data: class 22, data exceptions; class 54, limits of the server; calls that
    /// can't be sent. Other errors (a full disk, missing rights, a guard) do not depend on the inputs.
    var isInputFault: Bool {
        if case .invalidQuery = self { return true }
        return sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("54") } ?? false
    }

    /// Whether a retry may succeed.
    fileprivate var isPassing: Bool { isRetryable || isConnectionProblem || isLockTimeout }
    /// Whether another session held a lock for too long: for example a replica that was stopped in the middle of a
    /// batch.
    var isLockTimeout: Bool { sqlState == "55P03" }

    /// Whether the server certainly did not commit the failed pipeline.
    var isCertain: Bool {
        switch self {
        // FATAL and PANIC end the session, perhaps after the commit.
        case .server(let error): error.severity == "ERROR" && !isConnectionProblem
        // In a cancelled task, nothing was sent, or the server stopped a statement before the COMMIT.
        case .connectionLost(duringPipeline: false), .closed, .cancelled: true
        default: false
        }
    }
}

extension PartitionWorker {
    /// How long the first commands wait for an unreachable database. Later ones get one attempt until it returns.
    static var patience: Duration { .seconds(5) }
    /// How long the worker tries to find out the result of an unknown commit. After that the caller must find out
    /// alone.
    static var settlingPatience: Duration { .seconds(30) }

    struct BatchOutcome: Sendable {
        var batch: Batch<M>
        var head: Int
        var lastBatch: UUID?
        var hasMore = false
        var foundNothing = false
        var halt: String?
    }

    /// Runs a batch up to its commit. If it throws, nothing was committed, except with `RuntimeError.outcomeUnknown`.
    func commit(_ submissions: [Submission<M>], _ plan: BatchPlan) async throws -> BatchOutcome {
        let end = ContinuousClock.now + (isReachable ? Self.patience : .zero)
        var isRepeated = false
        var pause = Duration.milliseconds(5)
        var refusal: String?
        while true {
            do {
                return try await pool.withConnection { connection in
                    try await self.attempt(submissions, plan, connection)
                }
            } catch let unknown as UnknownCommit<M> {
                passTurn()
                if let done = try await settle(unknown) { return done }
                guard !isRepeated || .now < end else { throw RuntimeError.databaseUnavailable }
                isRepeated = true
            } catch let error as PostgresError where error.isPassing {
                forget()
                if error.isLockTimeout { progress.failed(.heldUp) }
                guard .now < end else { throw error }
            } catch let refused as RefusedData {
                // Another process may have changed a state, so the worker reads it again before it decides.
                forget()
                guard refused.error.sqlState != refusal else {
                    throw BadInput(
                        inputs: refused.inputs, name: refused.name, error: refused.error, isProven: false)
                }
                refusal = refused.error.sqlState
            } catch let error as PostgresError where error.isInputFault {
                // During gathering: only data from commands can cause this.
                throw BadInput(inputs: max(submissions.count, 1), error: error)
            }
            passTurn()
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    private func attempt(
        _ submissions: [Submission<M>], _ plan: BatchPlan, _ connection: Connection
    ) async throws -> BatchOutcome {
        var first = try await gather(submissions, plan, connection)
        switch try await caution(for: submissions, first, connection) {
        case .none: break
        case .postponed:
            _ = try await connection.execute(Query(statements.rollback))
            var batch = Batch<M>(
                partition: partition, policy: policy, aggregates: first.aggregates, slots: first.slots)
            batch.postpone(submissions.count)
            return unchanged(batch, first, hasMore: true)
        case .noted: first = try await gather(submissions, plan, connection)
        }
        var trial: String?
        if plan.isTrial, let name = onlyInput(of: first) {
            // Recorded once: a failure of the database says nothing about the input.
            if noted != name {
                try await note(name, connection)
                noted = name
                // The record is committed, which released the lock. Another process may have run a batch.
                first = try await gather(submissions, plan, connection)
            }
            guard onlyInput(of: first) == name else {
                _ = try await connection.execute(Query(statements.rollback))
                let batch = Batch<M>(
                    partition: partition, policy: policy, aggregates: first.aggregates, slots: first.slots)
                return unchanged(batch, first, hasMore: true)
            }
            trial = name
        }
        let name = onlyInput(of: first)
        var batch = progress.deciding { decide(submissions, &first, trial, plan.passing) }
        if plan.passing != nil, batch.events.isEmpty {
            _ = try await connection.execute(Query(statements.rollback))
            throw NoProof()
        }
        try await suspendRefusals(of: submissions, first, &batch, connection)
        let cleared = clearing(submissions, batch)
        let epoch = plan.log != nil && first.holdsLease ? lease?.epoch : nil
        let isAtHead = epoch != nil && !first.hasMore
        guard
            !batch.isEmpty || first.position != first.storedPosition || isAtHead && first.attempts > 0
                || first.outages.isLast || !cleared.isEmpty
        else {
            noteTold(first)
            _ = try await connection.execute(Query(statements.rollback))
            return unchanged(batch, first, hasMore: first.hasMore)
        }
        var done = BatchOutcome(
            batch: batch, head: 0, lastBatch: batch.id, hasMore: first.hasMore, foundNothing: first.isThrough,
            halt: first.halt)
        var queries: [Query] = []
        do throws(PostgresError) {
            queries = batch.pipeline(
                statements, position: first.position, epoch: epoch, isAtHead: isAtHead,
                after: forgetting(first) + clear(cleared))
            let rows = try await connection.execute(queries)
            noteTold(first)
            noteCleared(cleared)
            done.head = try rows[rows.count - 2][0].decode(Int.self, at: 0)
            return done
        } catch  where error.isInputFault {
            throw BadInput(inputs: batch.inputs, name: name, error: error)
        } catch  where error.isCertain {
            // The last two calls are the cursor's and the COMMIT.
            guard error.mayBeOfInput(queries: queries.count - 2) else { throw error }
            throw RefusedData(inputs: batch.inputs, name: name, error: error)
        } catch {
            // A server that shuts down may have committed before its error. Only the cursor row shows the result.
            throw UnknownCommit(done: done, headBefore: first.head)
        }
    }

    private func unchanged(_ batch: Batch<M>, _ first: BatchInput<M>, hasMore: Bool) -> BatchOutcome {
        BatchOutcome(
            batch: batch, head: first.head, lastBatch: first.lastBatch, hasMore: hasMore, foundNothing: first.isThrough,
            halt: first.halt)
    }

    /// Decides the batch in memory. Inputs without time wait for the next batch.
    private func decide(
        _ submissions: [Submission<M>], _ first: inout BatchInput<M>, _ trial: String?, _ passing: FailingInput?
    ) -> Batch<M> {
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: [:])
        // Moved, because a second reference would cause a copy of everything.
        swap(&batch.aggregates, &first.aggregates)
        swap(&batch.slots, &first.slots)
        batch.faults = first.faults
        batch.parked = first.parked
        batch.condemned = condemned
        if let passing { batch.condemned[passing.name] = passing.reason }
        batch.condemnedCommands = commandGuard.condemned
        batch.refreshed = first.refreshed
        batch.stale = first.stale
        batch.sizes = first.sizes
        batch.trial = trial
        batch.isDoubtful = first.isDoubtful
        batch.outage = first.outages.outage
        let now = first.now
        let over = now - Self.momentsKept
        if batch.slots.ceiling != nil, batch.slots.hasPages(before: over) { batch.over = over }
        var position = first.storedPosition
        for event in first.events {
            guard batch.run(event) else {
                first.position = position
                first.hasMore = batch.halt == nil
                first.halt = batch.halt
                first.due = []
                first.isAtHead = false
                break
            }
            position = event.offset
        }
        for key in first.due where !batch.run(deadlinesOf: key, until: now) {
            first.hasMore = true
            break
        }
        tell(&first, &batch)
        batch.beginPortion()
        for submission in submissions { batch.run(submission, at: now, stored: first.stored) }
        return batch
    }

    /// Returns the name of the input from the log; nil if there is not exactly one.
    private func onlyInput(of first: BatchInput<M>) -> String? {
        if let key = first.outages.unheard.first {
            guard first.outages.unheard.count == 1, first.events.isEmpty, first.due.isEmpty else { return nil }
            return Batch<M>.name(ofOutageFor: key, until: first.outages.recorded?.until ?? .epoch)
        }
        if let event = first.events.first {
            return first.events.count == 1 && first.due.isEmpty ? Batch<M>.name(ofEventAt: event.offset) : nil
        }
        guard let key = first.due.first, first.due.count == 1 else { return nil }
        return Batch<M>.name(of: key, due: first.aggregates[key]?.nextDeadline ?? .epoch)
    }

    /// Records that an input is about to be tried, for the next owner in case the process ends. Condemns the input
    /// after too many tries.
    private func note(_ name: String, _ connection: Connection) async throws {
        let rows = try await connection.execute([
            Query(Statements.suspect, [.int4(Int32(partition)), .text(M.name), .text(name)], rowsExpected: 1),
            Query(statements.commit),
        ])
        let tries = try rows[0][0].decode(Int.self)
        if tries >= 5 { condemned[name] = "each of \(tries - 1) tries ended the process" }
    }

    /// Finds out whether a commit with a lost answer succeeded. The lock on the cursor row waits for the end of the old
    /// transaction. The batch is committed if it is the cursor's last batch, or if its probe event is in the log:
    /// another replica may have committed a batch since. A batch without a probe has no results of commands. It is safe
    /// to repeat, because its inputs from the log are not processed twice.
    ///
    /// - Returns: nil if it was not committed.
    func settle(_ unknown: UnknownCommit<M>) async throws -> BatchOutcome? {
        forget()
        let start = ContinuousClock.now
        let partitionParameter = Parameter.int4(Int32(partition))
        let probe = unknown.done.batch.probe
        while true {
            do {
                let rows = try await pool.withConnection { connection in
                    try await connection.execute([
                        Query(self.statements.begin),
                        Query(Statements.limitLocks),
                        Query(self.statements.lockCursor, [partitionParameter, .text(M.name)], rowsExpected: 1),
                        Query(self.statements.clockAndHead, [partitionParameter], rowsExpected: 1),
                        Query(
                            Statements.probe, [partitionParameter, .int(unknown.headBefore), .uuid(probe?.id)],
                            rowsExpected: 1),
                        Query(self.statements.rollback),
                    ])
                }
                let isLast = try rows[2][0].decode(UUID?.self, at: 3) == unknown.done.batch.id
                let found = try rows[4][0].decode(Int?.self)
                guard isLast || found != nil else { return nil }
                var done = unknown.done
                // Others may have appended since, so the end of the batch follows from the offset of its probe.
                if let found, let probe {
                    done.head = found + done.batch.events.count - 1 - probe.index
                } else {
                    done.head = try rows[3][0].decode(Int.self, at: 4)
                }
                return done
            } catch let error as PostgresError where error.isPassing {
                let patience = isStopping ? Self.patience : Self.settlingPatience
                guard .now < start + patience else { throw RuntimeError.outcomeUnknown }
            } catch {
                throw RuntimeError.outcomeUnknown
            }
            do { try await Task.sleep(for: .milliseconds(50)) } catch { throw RuntimeError.outcomeUnknown }
        }
    }
}
