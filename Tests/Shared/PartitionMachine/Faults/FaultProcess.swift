import Contracts
import EventLog
import Foundation
import Machines
import TestSupport

@testable import Runtime

/// A command of a client. The client repeats it with the same idempotency key until it knows the result.
struct FaultCommand {
    let key: AggregateKey
    let command: Counter.Command
    /// Nil for a command that the client does not repeat.
    let idempotencyKey: String?
    /// The database refuses its data.
    var isBad = false
    /// Each process that runs it ends.
    var isFatal = false
    /// The number of times that it was committed.
    var commits = 0
    var isFinal = false
    /// The id that all processes derive for a request of this command; nil if each request has a random id.
    var derivedID: UUID?
}

/// One request of a client to a process.
struct FaultCall {
    /// The id of the request, also if all processes derive the same origin for its command.
    let id: UUID
    let command: Int
    var submission: Submission<Counter>
    /// The head of the log when the request came.
    let head: Int
}

/// A process that serves the partition: the pure machine, with what the engine keeps for it.
struct FaultProcess {
    typealias Machine = PartitionMachine<Counter>

    /// A request to the database.
    enum Request {
        case step(Machine.Action)
        /// The commit was sent in a session.
        case commit(session: Int)
    }

    let member: UUID
    var machine: Machine
    var cache: [AggregateKey: Aggregate<Counter>] = [:]
    var queue: [FaultCall] = []
    /// The calls of the batch under way.
    var taken: [FaultCall] = []
    /// The calls whose refusal waits until the cursor has passed an event.
    var waiting: [FaultCall] = []
    var request: Request?
    /// The session with the open transaction.
    var session: Int?

    init(member: UUID, now: ContinuousClock.Instant) {
        self.member = member
        machine = Machine(partition: 0, of: 1, policy: (), now: now)
    }

    /// All calls without an answer.
    var calls: [FaultCall] { queue + taken + waiting }

    var isIdle: Bool { request == nil && queue.isEmpty && waiting.isEmpty && !machine.takesLog }

    /// Queues the calls that waited for the cursor again.
    mutating func queueWaiting(position: Int, now: ContinuousClock.Instant) {
        guard !waiting.isEmpty else { return }
        machine.look(now: now)
        let isReader = machine.takesLog
        queue += waiting.filter { isReader || ($0.submission.settledAt ?? 0) <= position }
        waiting.removeAll { isReader || ($0.submission.settledAt ?? 0) <= position }
    }

    /// Takes the commands of the next batch; nil without work.
    mutating func begin() -> Machine.Event? {
        let guarded = machine.commandGuard
        let isSuspect = queue.first.map { guarded.isSuspect($0.submission.name) } ?? false
        guard var plan = machine.plan(hasCommands: !queue.isEmpty, nextIsSuspect: isSuspect) else { return nil }
        plan.portion = .seconds(3600)
        let first = queue.prefix(plan.commands)
        let end = first.firstIndex { guarded.isSuspect($0.submission.name) } ?? first.endIndex
        taken = Array(first[..<max(end, min(1, first.endIndex))])
        queue.removeFirst(taken.count)
        return .begin(plan, taken.map(\.submission))
    }

    /// Replaces the states of the input by the cached ones, as ``BatchReader`` does.
    ///
    /// - Parameter isStored: whether a cached state is the stored one.
    mutating func useCache(_ input: inout BatchInput<Counter>, isStored: (Aggregate<Counter>) -> Bool) throws {
        guard input.isCacheValid else { return cache = [:] }
        let keys = Set(input.aggregates.keys).union(taken.map(\.submission.key)).union(input.events.map(\.key))
        for key in keys {
            guard let cached = cache[key] else { continue }
            try require(isStored(cached), "a decision reads the stored state of \(key)")
            input.aggregates[key] = cached
        }
    }

    /// The events that the batch has decided and not yet committed, with the verdicts on the taken calls.
    var decided: Batch<Counter>? {
        switch machine.phase {
        case .readingUnread(_, _, let batch, _): batch
        case .committing(_, _, let done, _, _): done.batch
        default: nil
        }
    }

    /// The taken calls that a batch accepts.
    func accepted(_ batch: Batch<Counter>) -> [FaultCall] {
        zip(taken, batch.verdicts).compactMap { call, verdict in
            if case .answer = verdict { call } else { nil }
        }
    }
}

extension PartitionMachine.Action {
    /// Whether the transaction stays open for it.
    var keepsTransaction: Bool {
        switch self {
        case .findSuspects, .recordCommands, .recordTrial, .readUnread, .commit: true
        default: false
        }
    }
}
