import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// A random life of one partition: commands, events, leases, and failures of each step. A model of the database checks
/// that each command is answered once, and that no answer contradicts the log.
struct PartitionWalk {
    typealias Machine = PartitionMachine<Counter>

    /// The transitions between phases.
    private(set) var edges: Set<[String]> = []
    private var random: SplitMix64
    private var machine: Machine
    private var now = ContinuousClock.now
    /// Whether nothing fails any more.
    private var isCalm = false

    // The commands.

    private var queue: [Submission<Counter>] = []
    private var taken: [Submission<Counter>] = []
    private var answered: Set<UUID> = []
    private var submitted = 0

    // The database.

    private var position = 0
    private var head = 0
    private var pings: [Int] = []
    private var epoch = 0
    private var lastBatch: UUID?
    private var aggregates: [AggregateKey: Aggregate<Counter>] = [:]
    private var applied: Set<UUID> = []
    private var handled: Set<Int> = []
    /// The head after the batch whose answer was lost; nil if it was not committed.
    private var lost: Int?

    init(_ random: SplitMix64) {
        self.random = random
        machine = Machine(partition: 0, of: 1, policy: (), now: now)
        machine.commandGuard.turn(chance(50), condemned: [])
    }

    /// Lives for some batches, then lets everything succeed.
    mutating func run(batches: Int) throws {
        for _ in 0..<batches {
            happen()
            try batch()
        }
        isCalm = true
        hold(isSuspicious: false)
        machine.commandGuard.turn(false, condemned: [])
        for _ in 0..<200 {
            now += .seconds(1)
            head += 1
            pings.append(head)
            machine.look(now: now)
            repeat { try batch() } while machine.takesLog || !queue.isEmpty
        }
        try #require(answered.count == submitted && position == head)
        try #require(machine.quarantine.isNormal && machine.mayShare && machine.unreachableSince == nil)
        try #require(handled.count == pings.count, "each event was handled or parked")
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func hold(isSuspicious: Bool) {
        epoch += 1
        machine.hold(Machine.Lease(owner: UUID(), epoch: epoch), isSuspicious: isSuspicious, now: now)
    }

    /// Changes something between two batches.
    private mutating func happen() {
        now += .milliseconds(Int.random(in: 0...400, using: &random))
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            var one = Submission<Counter>(
                chance(20) ? .addIfPinged(1) : .add(1), to: chance(50) ? "a" : "p")
            submitted += 1
            if chance(50) { one.idempotency = Idempotency(key: "k\(submitted)", fingerprint: []) }
            queue.append(one)
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            head += 1
            pings.append(head)
        }
        if chance(5) { hold(isSuspicious: chance(50)) }
        if chance(3) { machine.leaseLost() }
        if chance(5) { machine.commandGuard.turn(chance(70), condemned: []) }
        if chance(70) { machine.look(now: now) }
    }

    private mutating func batch() throws {
        let guarded = machine.commandGuard
        let isSuspect = queue.first.map { guarded.isSuspect($0.name) } ?? false
        guard var plan = machine.plan(hasCommands: !queue.isEmpty, nextIsSuspect: isSuspect) else { return }
        plan.portion = .seconds(3600)
        let end =
            queue.prefix(plan.commands).firstIndex { guarded.isSuspect($0.name) } ?? min(plan.commands, queue.count)
        taken = Array(queue.prefix(max(end, min(1, plan.commands, queue.count))))
        queue.removeFirst(taken.count)
        var step = try send(.begin(plan, taken))
        for _ in 0..<1000 {
            guard let current = step else {
                try #require(machine.isIdle && taken.isEmpty)
                return
            }
            if !isCalm, chance(3) { machine.leaseLost() }
            if !isCalm, chance(3) { machine.look(now: now) }
            step = try send(try result(of: current))
        }
        Issue.record("the batch does not end")
    }

    /// Passes an event to the machine and executes the effects.
    private mutating func send(_ event: Machine.Event) throws -> Machine.Action? {
        let before = machine.phase.name
        let actions = machine.handle(event, now: now)
        edges.insert([before, machine.phase.name])
        var step: Machine.Action?
        for action in actions {
            switch action {
            case .answer(let results, _, _):
                try #require(results.count == taken.count)
                var later: [Submission<Counter>] = []
                for (one, result) in zip(taken, results) {
                    switch result {
                    case .later: later.append(one)
                    case .answer, .replay: try answer(one, isApplied: true)
                    case .refused: try answer(one, isApplied: false)
                    }
                }
                taken = []
                queue = later + queue
            case .failAll(let error):
                for one in taken {
                    let isUnknown = error as? RuntimeError == .outcomeUnknown
                    try answer(one, isApplied: isUnknown ? nil : false)
                }
                taken = []
            case .putBack:
                queue = taken + queue
                taken = []
            case .adopt(let adopted, _):
                for (key, aggregate) in adopted { try #require(aggregate.state == aggregates[key]?.state) }
            case .eventsLost(let loss): Issue.record("\(loss)")
            default: if action.isStep { step = action }
            }
        }
        return step
    }

    private mutating func answer(_ one: Submission<Counter>, isApplied: Bool?) throws {
        let isFirst = answered.insert(one.origin.id).inserted
        try #require(isFirst, "each caller gets one answer")
        if let isApplied { try #require(applied.contains(one.origin.id) == isApplied) }
    }

    // MARK: Results of steps

    private mutating func result(of step: Machine.Action) throws -> Machine.Event {
        switch step {
        case .gather(let request):
            if let failure = failure(15) { return failure }
            if let assumed = assumed(request) { return .gathered(assumed) }
            return !isCalm && chance(5) ? .skipped : .gathered(input(request))
        case .findSuspects(let names):
            return failure(10) ?? .suspectsFound(Set(names.sorted().filter { _ in !isCalm && chance(30) }))
        case .recordCommands(let names):
            return failure(10)
                ?? .commandsRecorded(
                    Dictionary(uniqueKeysWithValues: names.sorted().map { ($0, Int.random(in: 1...5, using: &random)) })
                )
        case .recordTrial: return failure(10) ?? .trialRecorded(tries: Int.random(in: 1...5, using: &random))
        case .readUnread(let keys, _, let last):
            return failure(10)
                ?? .unreadFound(Dictionary(uniqueKeysWithValues: keys.filter { _ in chance(50) }.map { ($0, last) }))
        case .commit(let commit): return try self.commit(commit)
        case .settle:
            if !isCalm, chance(20) { return .settled(.unknown) }
            return .settled(lost.map { .committed(head: $0) } ?? .notCommitted)
        case .pause(let time):
            now += time
            return !isCalm && chance(5) ? .failed(CancellationError(), isShared: false) : .resumed
        default: throw RuntimeError.failed
        }
    }

    private mutating func failure(_ percent: Int) -> Machine.Event? {
        guard !isCalm, chance(percent) else { return nil }
        let errors: [any Error] = [
            Failures.away, Failures.lock, Failures.conflict.error, Failures.badData.error, Failures.fullDisk.error,
            RuntimeError.failed,
        ]
        return .failed(errors[Int.random(in: 0..<errors.count, using: &random)], isShared: isShared())
    }

    private mutating func isShared() -> Bool {
        switch machine.phase {
        case .gathering(let attempt), .committing(let attempt, _, _, _, _): !attempt.plan.isAlone && chance(50)
        default: false
        }
    }

    private mutating func input(_ request: GatherRequest<Counter>) -> BatchInput<Counter> {
        var input = BatchInput<Counter>()
        (input.storedPosition, input.position, input.head) = (position, position, head)
        input.now = Instant(milliseconds: 1_000_000)
        input.lastBatch = lastBatch
        input.isCacheValid = request.lastBatch != nil && request.lastBatch == lastBatch
        input.holdsLease = request.lease?.epoch == epoch
        input.aggregates = aggregates
        if let limit = request.log, input.holdsLease {
            let events = pings.filter { $0 > position }.prefix(limit).map { Event.ping(at: $0) }
            input.take(Array(events), [], until: input.now, limit: limit)
        }
        return input
    }

    /// The input of a batch that assumes. The model has no cache: the process knows the states of its last batch.
    private mutating func assumed(_ request: GatherRequest<Counter>) -> BatchInput<Counter>? {
        guard let assumption = request.assumption, chance(70), request.keys.allSatisfy({ aggregates[$0] != nil })
        else { return nil }
        return BatchInput(assumption, aggregates: aggregates)
    }

    private mutating func commit(_ commit: BatchCommit<Counter>) throws -> Machine.Event {
        try #require(commit.epoch == nil || commit.epoch == epoch)
        if let assumption = commit.assumption {
            let holds = assumption.lastBatch == lastBatch && assumption.lease.epoch == epoch
            if !holds || !isCalm && chance(10) { return .failed(Failures.guarded, isShared: isShared()) }
        }
        guard !isCalm else { return .committed(head: try apply(commit)) }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<50: return .committed(head: try apply(commit))
        case ..<65:
            lost = try apply(commit)
            return .failed(Failures.lost, isShared: isShared())
        case ..<75:
            lost = nil
            return .failed(Failures.lost, isShared: isShared())
        default:
            let errors = [Failures.badData, Failures.noRights, Failures.conflict, Failures.fullDisk]
            return .failed(errors[Int.random(in: 0..<errors.count, using: &random)], isShared: isShared())
        }
    }

    /// Commits a batch in the model of the database.
    private mutating func apply(_ commit: BatchCommit<Counter>) throws -> Int {
        let batch = commit.batch
        for (one, result) in zip(taken, batch.verdicts) {
            guard case .answer = result else { continue }
            let isNew = applied.insert(one.origin.id).inserted
            try #require(isNew, "no command runs twice")
        }
        for ping in pings where ping > position && ping <= commit.position && commit.assumption == nil {
            let isNew = handled.insert(ping).inserted
            try #require(isNew, "no event is handled twice")
        }
        for key in batch.changed.keys { aggregates[key] = batch.aggregates[key] }
        // A batch that assumes leaves the cursor, or moves it with the head.
        let end = commit.assumption == nil ? commit.position : position
        position = end == head ? head + batch.events.count : end
        head += batch.events.count
        lastBatch = batch.id
        return head
    }
}

extension PartitionMachine.Phase {
    /// The name in the state diagram.
    var name: String {
        switch self {
        case .idle: "idle"
        case .gathering: "gathering"
        case .findingSuspects: "findingSuspects"
        case .recordingCommands: "recordingCommands"
        case .recordingTrial: "recordingTrial"
        case .readingUnread: "readingUnread"
        case .committing: "committing"
        case .settling: "settling"
        case .pausing: "pausing"
        }
    }
}
