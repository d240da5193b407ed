import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Timeline

/// The connection was lost while the second flight was under way: it may or may not have committed.
struct UnknownCommit<M: Machine>: Error {
    let done: PartitionWorker<M>.Done
    /// The partition's head before: what the flight appended lies behind it.
    let headBefore: Int
}

/// The database refused the data that inputs led to.
struct BadInput: Error {
    var inputs: Int
    /// The one from the log that was in the batch; nil where it held more, or commands.
    var name: String?
    var error: PostgresError
    /// Whether the fault can only be in the data. Otherwise the database may refuse everything.
    var isProven = true
}

extension PostgresError {
    /// The fault can only be in the data: class 22, data exceptions; class 54, limits of the server; what can't be sent
    /// at all. Everything else (a full disk, missing rights, a guard) says nothing about the inputs.
    var isInputFault: Bool {
        if case .invalidCall = self { return true }
        return sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("54") } ?? false
    }

    /// The same may go well a moment later.
    fileprivate var isPassing: Bool { isRetryable || isConnectionProblem || isLockTimeout }
    /// Somebody held a lock too long: a replica that was stopped in the middle of a batch, until the server ends it.
    var isLockTimeout: Bool { sqlState == "55P03" }

    /// Whether the server certainly did not commit the flight that failed so.
    var isCertain: Bool {
        switch self {
        // With FATAL and PANIC the session ended: that may have been after the commit.
        case .server(let error): error.severity == "ERROR" && !isConnectionProblem
        // In a cancelled task nothing was sent, or the server stopped a statement before the COMMIT.
        case .connectionLost(duringFlight: false), .closed, .cancelled: true
        default: false
        }
    }
}

extension PartitionWorker {
    /// How long commands wait for a database that does not answer. Only the first ones: while it is known to be away,
    /// others get one attempt.
    static var patience: Duration { .seconds(5) }
    /// How long a commit with an unknown end is followed up: a caller who is told nothing certain has to find out
    /// alone.
    static var settlingPatience: Duration { .seconds(30) }

    struct Done: Sendable {
        var batch: Batch<M>
        var head: Int
        var lastBatch: UUID?
        var hasMore = false
        var foundNothing = false
        var halt: String?
    }

    /// Runs a batch to its commit. Safe to run again until it returns: whatever throws here was not committed, but for
    /// `RuntimeError.outcomeUnknown`.
    func commit(_ submissions: [Submission<M>], _ portion: Portion) async throws -> Done {
        let end = ContinuousClock.now + (isReachable ? Self.patience : .zero)
        var isRepeated = false
        var pause = Duration.milliseconds(5)
        var refusal: String?
        while true {
            do {
                return try await pool.withConnection { connection in
                    try await self.attempt(submissions, portion, connection)
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
                // Another process changed a state: the worker reads it again before it decides.
                forget()
                guard refused.error.sqlState != refusal else {
                    throw BadInput(
                        inputs: refused.inputs, name: refused.name, error: refused.error, isProven: false)
                }
                refusal = refused.error.sqlState
            } catch let error as PostgresError where error.isInputFault {
                // While it gathered: only what commands bring can do that.
                throw BadInput(inputs: max(submissions.count, 1), error: error)
            }
            passTurn()
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    private func attempt(
        _ submissions: [Submission<M>], _ portion: Portion, _ connection: Connection
    ) async throws -> Done {
        var first = try await gather(submissions, portion, connection)
        switch try await caution(for: submissions, first, connection) {
        case .none: break
        case .postponed:
            _ = try await connection.run(Call(statements.rollback))
            var batch = Batch<M>(
                partition: partition, policy: policy, aggregates: first.aggregates, moments: first.moments)
            batch.postpone(submissions.count)
            return unchanged(batch, first, hasMore: true)
        case .noted: first = try await gather(submissions, portion, connection)
        }
        var trial: String?
        if portion.isTrial, let name = onlyInput(of: first) {
            // Once: that the database fails the trial says nothing about the input.
            if noted != name {
                try await note(name, connection)
                noted = name
                // The note is committed, so the lock was let go: somebody may have been here.
                first = try await gather(submissions, portion, connection)
            }
            guard onlyInput(of: first) == name else {
                _ = try await connection.run(Call(statements.rollback))
                let batch = Batch<M>(
                    partition: partition, policy: policy, aggregates: first.aggregates, moments: first.moments)
                return unchanged(batch, first, hasMore: true)
            }
            trial = name
        }
        let name = onlyInput(of: first)
        var batch = progress.deciding { decide(submissions, &first, trial, portion.passing) }
        if portion.passing != nil, batch.events.isEmpty {
            _ = try await connection.run(Call(statements.rollback))
            throw NoProof()
        }
        try await suspendRefusals(of: submissions, first, &batch, connection)
        let cleared = clearing(submissions, batch)
        let epoch = portion.log != nil && first.holdsLease ? lease?.epoch : nil
        let isAtHead = epoch != nil && !first.hasMore
        guard
            !batch.isEmpty || first.position != first.storedPosition || isAtHead && first.attempts > 0
                || first.outages.isLast || !cleared.isEmpty
        else {
            noteTold(first)
            _ = try await connection.run(Call(statements.rollback))
            return unchanged(batch, first, hasMore: first.hasMore)
        }
        var done = Done(
            batch: batch, head: 0, lastBatch: batch.id, hasMore: first.hasMore, foundNothing: first.isThrough,
            halt: first.halt)
        var calls: [Call] = []
        do throws(PostgresError) {
            calls = batch.flight(
                statements, position: first.position, epoch: epoch, isAtHead: isAtHead,
                after: forgetting(first) + clear(cleared))
            let rows = try await connection.run(calls)
            noteTold(first)
            noteCleared(cleared)
            done.head = try rows[rows.count - 2][0].int(0)
            return done
        } catch  where error.isInputFault {
            throw BadInput(inputs: batch.inputs, name: name, error: error)
        } catch  where error.isCertain {
            // The last two calls are the cursor's and the COMMIT.
            guard error.mayBeOfInput(calls: calls.count - 2) else { throw error }
            throw RefusedData(inputs: batch.inputs, name: name, error: error)
        } catch {
            // A server that shuts down may have committed before it said so: whatever broke the connection, only the
            // cursor row knows.
            throw UnknownCommit(done: done, headBefore: first.head)
        }
    }

    private func unchanged(_ batch: Batch<M>, _ first: Gathered<M>, hasMore: Bool) -> Done {
        Done(
            batch: batch, head: first.head, lastBatch: first.lastBatch, hasMore: hasMore, foundNothing: first.isThrough,
            halt: first.halt)
    }

    /// The batch in memory. What it has no time for stays where it is.
    private func decide(
        _ submissions: [Submission<M>], _ first: inout Gathered<M>, _ trial: String?, _ passing: FailingInput?
    ) -> Batch<M> {
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: [:])
        // Moved: a second reference would make the batch copy all of it.
        swap(&batch.aggregates, &first.aggregates)
        swap(&batch.moments, &first.moments)
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
        if batch.moments.ceiling != nil, batch.moments.hasPages(before: over) { batch.over = over }
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

    /// The input, where exactly one was gathered from the log.
    private func onlyInput(of first: Gathered<M>) -> String? {
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

    /// Notes that an input is about to be tried, for whoever comes after a process that it ends. Condemns it when it
    /// has ended too many.
    private func note(_ name: String, _ connection: Connection) async throws {
        let rows = try await connection.run([
            Call(Statements.suspect, [.int4(Int32(partition)), .text(M.name), .text(name)], rowsExpected: 1),
            Call(statements.commit),
        ])
        let tries = try rows[0][0].int(0)
        if tries >= 5 { condemned[name] = "the process ended each of the \(tries - 1) times it was tried" }
    }

    /// After a commit whose answer was lost: locks the cursor row, which waits for the other end's transaction to be
    /// over. Committed is what is the cursor's last batch, or has left its probe in the log: another replica may have
    /// committed its own batch in between. A batch without a probe holds nothing of commands, and is safe to repeat:
    /// what it took from the log is not taken again.
    ///
    /// - Returns: nil where it was not committed.
    func settle(_ unknown: UnknownCommit<M>) async throws -> Done? {
        forget()
        let start = ContinuousClock.now
        let place = Parameter.int4(Int32(partition))
        let probe = unknown.done.batch.probe
        while true {
            do {
                let rows = try await pool.withConnection { connection in
                    try await connection.run([
                        Call(self.statements.begin),
                        Call(Statements.limitLocks),
                        Call(self.statements.lockCursor, [place, .text(M.name)], rowsExpected: 1),
                        Call(self.statements.clockAndHead, [place], rowsExpected: 1),
                        Call(Statements.probe, [place, .int(unknown.headBefore), .uuid(probe?.id)], rowsExpected: 1),
                        Call(self.statements.rollback),
                    ])
                }
                let isLast = try rows[2][0].optionalUUID(3) == unknown.done.batch.id
                let found = try rows[4][0].optionalInt(0)
                guard isLast || found != nil else { return nil }
                var done = unknown.done
                // Others may have appended since: the batch's own end follows from where its probe is.
                if let found, let probe {
                    done.head = found + done.batch.events.count - 1 - probe.index
                } else {
                    done.head = try rows[3][0].int(4)
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
