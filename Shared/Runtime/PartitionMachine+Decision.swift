import EventLog
import Logging
import Contracts
import Machines
import Postgres
import Telemetry
import Timeline

extension PartitionMachine {
    /// Handles the gathered inputs: records those that may end the process, then decides.
    mutating func decide(_ attempt: Attempt, _ input: BatchInput<M>, now: ContinuousClock.Instant) -> [Action] {
        let loss = input.assumption == nil ? loss(before: input.head) : []
        guard loss.isEmpty else { return forget() + [.failAll(RuntimeError.databaseUnavailable)] + loss }
        hasParkedKeys = input.hasParkedKeys
        if input.assumption == nil {
            (days.last, lastHead, isDoubtful) = (input.day, input.head, input.isDoubtful)
            form = input.form
        }
        if input.isAtHead { nextDue = input.nextDue }
        if !input.isCacheValid { slots = nil }
        let names = unrecordedCommands(of: attempt, input)
        if !names.isEmpty {
            guard attempt.plan.isAlone else { return leaveGroup(attempt) }
            phase = .findingSuspects(attempt, input, names: names)
            return [.findSuspects(names)]
        }
        return tryInput(attempt, input, now: now)
    }

    /// Returns the action for a log that ended before an event that this process knows.
    ///
    /// - Parameter head: the head that the batch has found.
    func loss(before head: Int) -> [Action] {
        head < lastHead ? [.eventsLost(EventsLost(partition: partition, head: head, knownHead: lastHead))] : []
    }

    /// Leaves a shared transaction. The same inputs come again in a batch of their own.
    private mutating func leaveGroup(_ attempt: Attempt) -> [Action] {
        isAlone = true
        if attempt.plan.log != nil { lookAgain() }
        return [.putBack]
    }

    // MARK: Commands that may end the process

    /// Returns the commands that must be recorded before they run: while a death is recent, those that may be repeated
    /// and that this process has not recorded.
    private func unrecordedCommands(of attempt: Attempt, _ input: BatchInput<M>) -> Set<String> {
        guard commandGuard.isOn else { return [] }
        let unanswered = attempt.submissions.filter { one in
            one.idempotency.map { input.stored[$0.key] == nil } ?? false
        }
        return Set(unanswered.compactMap { $0.name }).subtracting(commandGuard.noted)
            .subtracting(commandGuard.condemned)
    }

    /// Records commands. If another process has recorded one of them, all return to the queue: it must run alone.
    mutating func guardCommands(
        _ attempt: Attempt, _ input: BatchInput<M>, _ names: Set<String>, known: Set<String>,
        now: ContinuousClock.Instant
    ) -> [Action] {
        guard commandGuard.suspects.isSuperset(of: known) else {
            commandGuard.suspects.formUnion(known)
            var batch = emptyBatch(input)
            batch.postpone(attempt.submissions.count)
            return finish(attempt, unchanged(batch, input, hasMore: true), now: now)
        }
        phase = .recordingCommands(attempt, names: names)
        return [.recordCommands(names)]
    }

    /// Condemns commands with too many records.
    mutating func recorded(_ tries: [String: Int]) -> [Action] {
        tries.filter { $0.value >= CommandGuard.tries }.keys.sorted().map { name in
            commandGuard.condemned.insert(name)
            return .log(.error, "blocked command, each process that ran it ended", [LogKey.command: name])
        }
    }

    // MARK: Inputs of the log on trial

    private mutating func tryInput(
        _ attempt: Attempt, _ input: BatchInput<M>, now: ContinuousClock.Instant
    ) -> [Action] {
        guard attempt.plan.isTrial, attempt.plan.log != nil else { return run(attempt, input, trial: nil, now: now) }
        let name = onlyInput(of: input)
        if let recorded = attempt.recordedTrial {
            guard name != recorded else { return run(attempt, input, trial: recorded, now: now) }
            // The record released the lock, and another process has run a batch.
            return finish(attempt, unchanged(emptyBatch(input), input, hasMore: true), now: now)
        }
        // Recorded once: a failure of the database says nothing about the input.
        guard let name, quarantine.recordedTrial != name else {
            return run(attempt, input, trial: name, now: now)
        }
        phase = .recordingTrial(attempt, name: name)
        return [.recordTrial(name)]
    }

    /// Returns the name of the input from the log; nil if there is not exactly one.
    func onlyInput(of input: BatchInput<M>) -> String? {
        if let key = input.outages.unheard.first {
            guard input.outages.unheard.count == 1, input.events.isEmpty, input.due.isEmpty else { return nil }
            return Batch<M>.name(ofOutageFor: key, until: input.outages.recorded?.until ?? .epoch)
        }
        if let event = input.events.first {
            return input.events.count == 1 && input.due.isEmpty ? Batch<M>.name(ofEventAt: event.offset) : nil
        }
        guard let key = input.due.first, input.due.count == 1 else { return nil }
        return Batch<M>.name(of: key, due: input.aggregates[key]?.nextDeadline ?? .epoch)
    }

    // MARK: Decision

    private mutating func run(
        _ attempt: Attempt, _ input: BatchInput<M>, trial: String?, now: ContinuousClock.Instant
    ) -> [Action] {
        let name = onlyInput(of: input)
        var input = input
        var batch = batch(attempt, &input, trial)
        run(attempt, &input, &batch)
        if input.assumption != nil, !isVerifiable(batch) { return look(instead: attempt) }
        if attempt.plan.passing != nil, batch.events.isEmpty {
            quarantine.foundNoProof()
            lookLater(now: now)
            return forget() + [.putBack]
        }
        let keys = earlyRefusals(of: attempt, input, batch)
        guard keys.isEmpty else {
            phase = .readingUnread(attempt, input, batch, name: name)
            return [.readUnread(keys, after: input.position, upTo: input.head)]
        }
        return commit(attempt, input, batch, name, now: now)
    }

    private mutating func batch(_ attempt: Attempt, _ input: inout BatchInput<M>, _ trial: String?) -> Batch<M> {
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: [:], plan: attempt.plan.portion)
        // Moved, because a second reference would cause a copy of everything.
        swap(&batch.aggregates, &input.aggregates)
        if let restored = input.slots { batch.slots = restored } else if let slots { batch.slots = slots }
        input.slots = nil
        slots = nil
        batch.form = input.writtenForm
        batch.moment = input.now
        batch.faults = input.faults
        batch.parked = input.parked
        batch.condemned = quarantine.condemned
        if let passing = attempt.plan.passing { batch.condemned[passing.name] = passing.reason }
        batch.condemnedCommands = commandGuard.condemned
        batch.refreshed = input.refreshed
        batch.stale = input.stale
        batch.sizes = input.sizes
        batch.trial = trial
        batch.isDoubtful = input.isDoubtful
        batch.outage = input.outages.outage
        let over = input.now - Self.slotsKept
        if batch.slots.ceiling != nil, batch.slots.hasPages(before: over) { batch.over = over }
        return batch
    }

    /// Decides the inputs in memory. Inputs without time wait for the next batch.
    private func run(_ attempt: Attempt, _ input: inout BatchInput<M>, _ batch: inout Batch<M>) {
        var position = input.storedPosition
        for event in input.events {
            guard batch.run(event) else {
                input.position = position
                input.hasMore = batch.halt == nil
                input.halt = batch.halt
                input.due = []
                input.isAtHead = false
                break
            }
            position = event.offset
        }
        for key in input.due where !batch.run(deadlinesOf: key, until: input.now) {
            input.hasMore = true
            break
        }
        input.notify(&batch)
        batch.beginPortion()
        for submission in attempt.submissions { batch.run(submission, at: input.now, stored: input.stored) }
    }

    private func emptyBatch(_ input: BatchInput<M>) -> Batch<M> {
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: [:], slots: slots ?? noSlots)
        if let restored = input.slots { batch.slots = restored }
        return batch
    }

    // MARK: Commit

    /// Commits a decided batch; without changes it is over.
    mutating func commit(
        _ attempt: Attempt, _ input: BatchInput<M>, _ batch: Batch<M>, _ name: String?, now: ContinuousClock.Instant
    ) -> [Action] {
        let cleared = commandGuard.clearing(attempt.submissions, batch)
        let epoch = attempt.plan.log != nil && input.holdsLease ? lease?.epoch : nil
        let isAtHead = epoch != nil && !input.hasMore
        guard
            !batch.isEmpty || input.position != input.storedPosition || isAtHead && input.attempts > 0
                || input.outages.isLast || !cleared.isEmpty
        else {
            noteNotified(input)
            return finish(attempt, unchanged(batch, input, hasMore: input.hasMore), now: now)
        }
        let done = BatchOutcome(
            batch: batch, lastBatch: batch.id, hasMore: input.hasMore, isThrough: input.isThrough,
            readTo: input.isAtHead ? (input.head, input.day) : nil, halt: input.halt)
        phase = .committing(attempt, input, done, name: name, cleared: cleared)
        return [
            .commit(
                BatchCommit(
                    batch: batch, position: input.position, epoch: epoch, assumption: input.assumption,
                    isAtHead: isAtHead,
                    clearsOutage: input.outages.isLast ? input.outages.recorded : nil, clearedCommands: cleared))
        ]
    }

    private func unchanged(_ batch: Batch<M>, _ input: BatchInput<M>, hasMore: Bool) -> BatchOutcome<M> {
        BatchOutcome(
            batch: batch, head: input.head, lastBatch: input.lastBatch, hasMore: hasMore, isThrough: input.isThrough,
            readTo: input.isAtHead ? (input.head, input.day) : nil, halt: input.halt)
    }

    /// Records the last notified key, after the commit or if there was nothing to commit.
    mutating func noteNotified(_ input: BatchInput<M>) {
        guard let recorded = input.outages.recorded, let key = input.outages.unheard.last else { return }
        notified = (recorded, key.description)
    }

    // MARK: Early refusals

    /// Returns the aggregates of refusals that an unread event may change. None if the log was read to its head.
    private func earlyRefusals(of attempt: Attempt, _ input: BatchInput<M>, _ batch: Batch<M>) -> [AggregateKey] {
        guard input.position < input.head, !M.follows.isEmpty else { return [] }
        let keys = attempt.submissions.indices.lazy.filter { index in
            guard case .refused(let error) = batch.verdicts[index], !(error is RuntimeError) else { return false }
            return attempt.submissions[index].settledAt.map { input.position < $0 } ?? true
        }.map { attempt.submissions[$0].key.description }
        return Set(keys).sorted().map { AggregateKey($0) }
    }

    /// Takes back refusals about aggregates with unread events.
    func suspendRefusals(of attempt: Attempt, _ batch: inout Batch<M>, _ unread: [AggregateKey: Int]) {
        for index in attempt.submissions.indices {
            guard case .refused(let error) = batch.verdicts[index], !(error is RuntimeError),
                let last = unread[attempt.submissions[index].key]
            else { continue }
            batch.overrule(
                index, by: .refused(EarlyRefusal(unread: attempt.submissions[index].settledAt ?? last)))
        }
    }
}
