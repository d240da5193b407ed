import Contracts
import OrderedCollections
import Logging
import EventLog
import Machines
import Postgres
import Telemetry
import Timeline

/// An error of a commit, with the number of queries that carry data. They come first in the pipeline.
struct CommitFailure: Error, Sendable {
    let error: PostgresError
    let dataQueries: Int

    /// Whether the server certainly did not commit.
    ///
    /// Citus commits on a worker before it answers. If the worker's answer is lost, the COMMIT fails with an internal error,
    /// though the worker may have committed.
    var isCertain: Bool {
        guard error.sqlState == "XX000", case .server(let failure) = error else { return error.isCertain }
        return failure.queryIndex != dataQueries + 1
    }
}

extension PartitionMachine {
    /// The time after which a partition that waits for another session's lock is reported.
    static var heldUpAfter: Duration { .seconds(1) }

    // MARK: Success

    /// Takes note that the database answers.
    mutating func reached() {
        unreachableSince = nil
        isFailureLogged = false
    }

    /// Adopts the results of a batch and answers its commands.
    mutating func finish(_ attempt: Attempt, _ done: BatchOutcome<M>, now: ContinuousClock.Instant) -> [Action] {
        let batch = done.batch
        reached()
        heldUpSince = nil
        isAlone = false
        if let read = done.readTo { (days.first, days.firstHead) = (read.day, read.head) }
        if attempt.plan.log != nil { isBehind = done.hasMore }
        let result = quarantine.committed(
            attempt.plan, hasData: !batch.events.isEmpty, isThrough: done.isThrough, now: now)
        var actions: [Action] = []
        if result.succeeded { actions.append(.progress(.succeeded(withData: result.withData))) }
        actions.append(adopt(batch))
        if !folded.isEmpty { folded = folded.filter { batch.aggregates[$0.key] == nil } }
        (lastBatch, lastHead) = (done.lastBatch, done.head)
        if attempt.plan.log != nil {
            if done.hasMore || quarantine.trialsLeft > 0 { lookAgain() }
            if let halt = done.halt { actions += stop(for: halt) }
        }
        actions += reportParked(batch)
        for key in batch.changed.keys { note(batch.aggregates[key]?.nextDeadline) }
        if !batch.events.isEmpty { actions.append(.wakeUp(types: Set(batch.events.lazy.map({ $0.type })))) }
        actions.append(.answer(batch.verdicts, head: done.head, events: batch.events.count))
        if !batch.stale.isEmpty { actions.append(.upgrade(Array(batch.stale.values))) }
        return actions
    }

    private mutating func adopt(_ batch: Batch<M>) -> Action {
        var sizes = batch.sizes
        for (key, change) in batch.changed { sizes[key] = change.written.binary.count }
        if batch.slots.ceiling != nil {
            var slots = batch.slots
            if let over = batch.over, !slots.changed.isEmpty { slots.drop(before: over) }
            slots.forgetChanges()
            self.slots = slots
        }
        return .adopt(batch.aggregates, sizes: sizes)
    }

    private mutating func stop(for halt: Halt) -> [Action] {
        guard self.halt == nil else { return [] }
        self.halt(for: halt)
        return [
            .progress(.halted(halt.reason)),
            .log(.error, "log needs a newer program, partition halted", [LogKey.reason: halt.reason]),
        ]
    }

    private mutating func reportParked(_ batch: Batch<M>) -> [Action] {
        batch.parkedInputs.compactMap { one in
            quarantine.park(
                one.due.map { Batch<M>.name(of: one.key, due: $0) } ?? Batch<M>.name(ofEventAt: one.offset))
            guard let reason = one.reason else { return nil }
            return .log(
                .error, "park input and its device",
                [LogKey.aggregate: "\(one.key)", LogKey.offset: "\(one.offset)", LogKey.reason: reason])
        }
    }

    /// Handles the result of a commit with a lost answer.
    mutating func settled(
        _ settlement: Settlement, _ attempt: Attempt, _ done: inout BatchOutcome<M>, now: ContinuousClock.Instant
    ) -> [Action] {
        switch settlement {
        case .committed(let head):
            done.head = head
            return finish(attempt, done, now: now)
        case .notCommitted:
            guard !attempt.isRepeated || now < attempt.end else {
                return giveUp(attempt, RuntimeError.databaseUnavailable, now: now)
            }
            var attempt = attempt
            attempt.isRepeated = true
            return pause(&attempt)
        case .unknown: return giveUp(attempt, RuntimeError.outcomeUnknown, now: now)
        }
    }

    // MARK: Failure

    /// Handles the failure of the last action.
    mutating func failed(
        _ phase: Phase, _ error: any Error, isShared: Bool, now: ContinuousClock.Instant
    ) -> [Action] {
        if let cause = (error as? CommitFailure)?.error ?? error as? PostgresError, cause.isConnectionProblem {
            unreachableSince = unreachableSince ?? now
        }
        switch phase {
        case .idle: return []
        case .committing(let attempt, let input, let done, let name, _):
            let failure = error as? CommitFailure
            let cause = failure?.error ?? error as? PostgresError
            // Before the commit was sent, or after it was refused. The look finds out why.
            if input.assumption != nil, failure?.isCertain ?? true {
                assumptions.failed()
                return look(instead: attempt)
            }
            if let cause, !cause.isInputFault, !(failure?.isCertain ?? cause.isCertain) {
                // A server that shuts down may have committed before its error. Only the cursor row shows the result.
                self.phase = .settling(attempt, done, headBefore: input.head, name: name)
                return forget() + [
                    .settle(SettleRequest(partition: partition, batch: done.batch, after: input))
                ]
            }
            if isShared { return failedTogether(attempt) }
            guard let failure else { return failedAlone(attempt, error, inputs: done.batch.inputs, name, now: now) }
            if failure.error.isInputFault {
                return refused(
                    attempt, BadInput(inputs: done.batch.inputs, name: name, error: failure.error), now: now)
            }
            guard failure.error.mayBeOfInput(queries: failure.dataQueries) else {
                return failedAlone(attempt, failure.error, inputs: done.batch.inputs, name, now: now)
            }
            return refusedWithoutCause(attempt, failure.error, done.batch.inputs, name, now: now)
        case .gathering(let attempt), .findingSuspects(let attempt, _, _), .recordingCommands(let attempt, _),
            .recordingTrial(let attempt, _), .readingUnread(let attempt, _, _, _), .settling(let attempt, _, _, _),
            .pausing(let attempt):
            if isShared { return failedTogether(attempt) }
            return failedAlone(attempt, error, inputs: max(attempt.submissions.count, 1), nil, now: now)
        }
    }

    /// A shared transaction failed. The next batch runs alone, so that the partition at fault is known.
    private mutating func failedTogether(_ attempt: Attempt) -> [Action] {
        isAlone = true
        if attempt.plan.log != nil { lookAgain() }
        return forget() + [.putBack]
    }

    private mutating func failedAlone(
        _ attempt: Attempt, _ error: any Error, inputs: Int, _ name: String?, now: ContinuousClock.Instant
    ) -> [Action] {
        guard let cause = error as? PostgresError else { return giveUp(attempt, error, now: now) }
        // During gathering: only data from commands can cause this.
        if cause.isInputFault { return refused(attempt, BadInput(inputs: inputs, name: name, error: cause), now: now) }
        guard cause.isPassing else { return giveUp(attempt, cause, now: now) }
        if !cause.isLockTimeout { heldUpSince = nil }
        let report = cause.isLockTimeout ? heldUp(now: now) : []
        // The poll repeats a batch without commands. A command that comes meanwhile gets its own patience.
        let waits = now < attempt.end && !(attempt.submissions.isEmpty && cause.isConnectionProblem)
        guard waits else { return report + giveUp(attempt, cause, now: now) }
        var attempt = attempt
        return forget() + report + pause(&attempt)
    }

    /// Another session holds the cursor's lock. The batch tries again alone, and waits for the lock a little.
    mutating func skipped(_ attempt: Attempt, now: ContinuousClock.Instant) -> [Action] {
        var attempt = attempt
        attempt.plan.isAlone = true
        let actions = heldUp(now: now)
        phase = .pausing(attempt)
        return actions + [.pause(.zero)]
    }

    private mutating func heldUp(now: ContinuousClock.Instant) -> [Action] {
        let since = heldUpSince ?? now
        heldUpSince = since
        return since + Self.heldUpAfter <= now ? [.progress(.failed(.heldUp))] : []
    }

    private mutating func pause(_ attempt: inout Attempt) -> [Action] {
        let pause = attempt.pause
        attempt.pause = min(pause * 2, Quarantine.pause)
        attempt.plan.isAlone = true
        phase = .pausing(attempt)
        return [.pause(pause)]
    }

    /// The database refused data, with a SQLSTATE that does not show the cause. Another process may have changed a
    /// state, so the batch runs again from the stored states. If the refusal is repeated, the batch is bisected.
    private mutating func refusedWithoutCause(
        _ attempt: Attempt, _ error: PostgresError, _ inputs: Int, _ name: String?, now: ContinuousClock.Instant
    ) -> [Action] {
        guard error.sqlState != attempt.refusal else {
            return refused(attempt, BadInput(inputs: inputs, name: name, error: error, isProven: false), now: now)
        }
        var attempt = attempt
        attempt.refusal = error.sqlState
        return forget() + pause(&attempt)
    }

    private mutating func refused(_ attempt: Attempt, _ bad: BadInput, now: ContinuousClock.Instant) -> [Action] {
        var actions = forget()
        if !bad.isProven, attempt.plan.log != nil { actions += report(bad.error) }
        // Logged as an error once for each input that blocks the log.
        actions.append(
            .log(
                quarantine.failing == nil ? .error : .debug, "database refused data of batch",
                [LogKey.inputs: "\(bad.inputs)", LogKey.error: "\(bad.error)"]))
        let reaction = quarantine.refused(
            bad, attempt.plan, commands: attempt.submissions.count, now: now)
        if let failing = quarantine.failing, attempt.plan.commands == 0 {
            actions.append(.progress(.failed(.failing("\(failing.name): \(failing.reason)"))))
        }
        switch reaction {
        case .failCommand(let error): return actions + [.failAll(error)]
        case .again(let looksAgain):
            if attempt.plan.log != nil { if looksAgain { lookAgain() } else { lookLater(now: now) } }
            return actions + [.putBack]
        }
    }

    /// Ends the batch with an error. Its inputs from the log are still there: the poll looks again.
    private mutating func giveUp(_ attempt: Attempt, _ error: any Error, now: ContinuousClock.Instant) -> [Action] {
        var actions = forget()
        // The failure of a batch with only commands does not block the log.
        if attempt.plan.log != nil {
            actions += report(error)
            lookLater(now: now)
        }
        // Logged as an error once for each outage of the database.
        actions.append(.log(isFailureLogged ? .debug : .error, "failed to run batch", [LogKey.error: "\(error)"]))
        isFailureLogged = true
        unreachableSince = unreachableSince ?? attempt.end - Self.patience
        isAlone = false
        return actions + [.failAll((error as? RuntimeError) ?? .databaseUnavailable)]
    }

    /// Reports the reason of a failed batch, if the database answers.
    private func report(_ error: any Error) -> [Action] {
        if let error = error as? PostgresError, error.isOfDatabase || error.isServerFault { return [] }
        if let error = error as? RuntimeError, error == .databaseUnavailable || error == .outcomeUnknown { return [] }
        if error is CancellationError { return [] }
        return [.progress(.failed(.failing("\(error)")))]
    }
}

extension PostgresError {
    /// Whether the fault can only be in the data: class 22, data exceptions; class 54, limits of the server; calls that
    /// can't be sent. Other errors (a full disk, missing rights, a guard) do not depend on the inputs.
    var isInputFault: Bool {
        if case .invalidQuery = self { return true }
        return sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("54") } ?? false
    }

    /// Whether a retry may succeed.
    var isPassing: Bool { isRetryable || isConnectionProblem || isLockTimeout }

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

    /// Whether it is a certain failure of a statement with data of inputs. Failures of the server as a whole
    /// (connections, resources, operators, I/O) are not: 08, 25, 28, 40, 53, 55, 57, 58.
    ///
    /// - Parameter queries: the number of calls with data, which come first in the pipeline.
    func mayBeOfInput(queries: Int) -> Bool {
        guard case .server(let error) = self, let index = error.queryIndex, index < queries else { return false }
        return !["08", "25", "28", "40", "53", "55", "57", "58"].contains(error.sqlState.prefix(2))
    }

    /// Whether the database is away, or a lock or a cancellation was the cause. Such an error says nothing about the
    /// partition.
    var isOfDatabase: Bool { isConnectionProblem || isLockTimeout || self == .cancelled || self == .closed }
}
