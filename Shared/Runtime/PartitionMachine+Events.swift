import EventLog
import Contracts
import Foundation
import Logging
import Machines
import Postgres

extension PartitionMachine {
    /// An event of a batch: the result of the last action, or the begin.
    enum Event: Sendable {
        case begin(BatchPlan, [Submission<M>])
        case gathered(BatchInput<M>)
        /// Another session holds the lock of the cursor.
        case skipped
        /// The names of commands that another process has recorded.
        case suspectsFound(Set<String>)
        /// The commands are recorded, each with its number of records.
        case commandsRecorded([String: Int])
        case trialRecorded(tries: Int)
        /// The last unread event about each aggregate.
        case unreadFound([AggregateKey: Int])
        case committed(head: Int)
        /// The last action failed.
        ///
        /// - Parameter isShared: whether other partitions took part in the transaction.
        case failed(any Error, isShared: Bool)
        case settled(Settlement)
        /// A pause is over.
        case resumed
    }

    /// The result of a commit with a lost answer.
    enum Settlement: Sendable, Equatable {
        case committed(head: Int)
        case notCommitted
        case unknown
    }

    /// The engine executes actions in order. A transaction ends without changes when no step is left.
    enum Action: Sendable {
        // Steps: the result of each is the next event. The last action may be one.

        case gather(GatherRequest<M>)
        case findSuspects(Set<String>)
        case recordCommands(Set<String>)
        case recordTrial(String)
        case readUnread([AggregateKey], after: Int, upTo: Int)
        case commit(BatchCommit<M>)
        case settle(SettleRequest)
        case pause(Duration)
        /// Upgrades states before the next batch. It has no event.
        case upgrade([StoredState])

        // Effects.

        /// Answers the commands in order. Those of `.later` return to the queue.
        case answer([CommandResult], head: Int, events: Int)
        case failAll(any Error)
        case putBack
        /// Drops the cached aggregates.
        case forget
        /// Stores the aggregates of a batch in the cache.
        case adopt([AggregateKey: Aggregate<M>], sizes: [AggregateKey: Int])
        case wakeUp(types: Set<String>)
        case progress(Progress)
        /// Stops all batches of the process, because the database has lost events.
        case eventsLost(EventsLost)
        case log(Logger.Level, String, [String: String])
    }

    /// A change of the partition's progress, for readiness.
    enum Progress: Sendable {
        case succeeded(withData: Bool)
        case failed(StuckPartition.Cause)
        case halted(String)
    }

    /// Handles an event.
    ///
    /// - Returns: the actions. Without a step among them, the batch is over.
    mutating func handle(_ event: consuming Event, now: ContinuousClock.Instant) -> [Action] {
        let phase = self.phase
        self.phase = .idle
        switch (phase, consume event) {
        case (.idle, .begin(let plan, let submissions)):
            if plan.log != nil { looksAtLog = false }
            return gather(
                Attempt(plan: plan, submissions: submissions, end: (unreachableSince ?? now) + Self.patience))
        case (.pausing(let attempt), .resumed): return gather(attempt)
        case (.gathering(let attempt), .gathered(let input)): return decide(attempt, input, now: now)
        case (.gathering(let attempt), .skipped): return skipped(attempt, now: now)
        case (.findingSuspects(let attempt, let input, let names), .suspectsFound(let known)):
            return guardCommands(attempt, input, names, known: known, now: now)
        case (.recordingCommands(let attempt, let names), .commandsRecorded(let tries)):
            commandGuard.noted.formUnion(names)
            return recorded(tries) + gather(attempt)
        case (.recordingTrial(var attempt, let name), .trialRecorded(let tries)):
            quarantine.recorded(name, tries: tries)
            attempt.recordedTrial = name
            return gather(attempt)
        case (.readingUnread(let attempt, let input, var batch, let name), .unreadFound(let unread)):
            suspendRefusals(of: attempt, &batch, unread)
            return commit(attempt, input, batch, name, now: now)
        case (.committing(let attempt, let input, var done, _, let cleared), .committed(let head)):
            noteNotified(input)
            if input.assumption != nil { assumptions.held() }
            commandGuard.cleared(cleared)
            done.head = head
            let loss = loss(before: head - done.batch.events.count)
            return finish(attempt, done, now: now) + loss
        case (.settling(let attempt, var done, _, _), .settled(let settlement)):
            return settled(settlement, attempt, &done, now: now)
        case (let phase, .failed(let error, let isShared)):
            return failed(phase, error, isShared: isShared, now: now)
        default:
            // The engine reports results of actions only, so no other pair occurs.
            return []
        }
    }

    mutating func gather(_ attempt: Attempt) -> [Action] {
        let request = GatherRequest(
            partition: partition, keys: attempt.submissions.map { $0.key },
            idempotencyKeys: attempt.submissions.compactMap { $0.idempotency?.key }, log: attempt.plan.log,
            lease: lease, lastBatch: lastBatch, hasParkedKeys: hasParkedKeys,
            readsSlots: noSlots.ceiling != nil && slots == nil, noSlots: noSlots, unreadable: unreadable,
            folded: folded, notified: notified.map { ($0.outage, $0.key) }, days: days,
            assumption: assumption(of: attempt))
        phase = .gathering(attempt)
        return [.gather(request)]
    }
}
