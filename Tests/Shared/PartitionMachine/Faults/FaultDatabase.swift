import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import TestSupport
import Timeline

@testable import Postgres
@testable import Runtime

/// A guard against lost or repeated work. Without one of them, the simulation must find a fault.
enum Guard: String, CaseIterable, Sendable {
    /// A batch takes events and deadlines only under the lease of the cursor row.
    case epoch
    /// Cached states count only while the cursor row names the last batch of the process.
    case lastBatch
    /// An event in the log proves that a batch was committed, after another batch has replaced it in the cursor row.
    case probe
    /// A state is written only over the state that the decision has read.
    case baseVersion
    /// A batch that decided from memory is committed only if nothing has changed.
    case assumption
    /// Appends of all services wait for each other, so that offsets become visible in order.
    case headLock
    /// A process deletes the records of commands with them, also if its guard was turned off meanwhile.
    case deletedRecords
    /// An event that the machine can't read parks its device. Without it, the event counts as refused.
    case unreadableEvents
    /// A lease from a clock that has gone back since is over.
    case futureLeases
    /// A batch with refused data is divided. Without it, the refusal counts as an outage.
    case dividedBatches
    /// A result is unknown only after the commit was sent.
    case certainFailures
    /// An event with a derived id does not prove that a batch was committed: another process may have written it.
    case derivedOrigins
    /// The result of a batch without a probe is unknown after another batch.
    case unprovenBatches
}

/// An error: the simulation found a property that does not hold.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ property: @autoclosure () -> String) throws {
    if !condition { throw Violation(property()) }
}

/// A model of the rows of one partition, and of their locks.
struct FaultDatabase {
    struct Cursor {
        var position = 0
        var owner: UUID?
        var epoch = 0
        var lastBatch: UUID?
        var attempts = 0
        var leaseUntil: ContinuousClock.Instant
    }

    static let term = Duration.seconds(3)

    let without: Guard?
    /// The visible events, in the order of their offsets.
    private(set) var log: [Event] = []
    private(set) var head = 0
    /// The last used offset, also that of an append under way.
    private var reserved = 0
    /// The event of another service whose transaction is open.
    private(set) var appending: Event?
    var cursor: Cursor
    private(set) var states: [AggregateKey: Aggregate<Counter>] = [:]
    /// The fold of the visible events of each aggregate.
    private var folds: [AggregateKey: Aggregate<Counter>] = [:]
    private(set) var answers: [String: (fingerprint: [UInt8], answer: [UInt8])] = [:]
    /// The records of inputs that may end a process, each with its number of tries and the time of the last one.
    private(set) var records: [String: (tries: Int, at: ContinuousClock.Instant)] = [:]
    private(set) var parked: Set<AggregateKey> = []
    /// The ids of the events that no process can read.
    var unreadableEvents: Set<UUID> = []
    /// The offsets of followed events that were handled or parked.
    private(set) var handled: Set<Int> = []
    /// The session that holds the lock of the cursor row.
    var cursorLock: Int?
    var time = Instant(milliseconds: 1_000_000)

    init(without: Guard?, now: ContinuousClock.Instant) {
        self.without = without
        cursor = Cursor(leaseUntil: now)
    }

    /// Whether a lease is over at a time, as `isOver` in ``Statements``.
    func isLeaseOver(at now: ContinuousClock.Instant) -> Bool {
        cursor.leaseUntil < now || cursor.leaseUntil > now + Self.term * 2 && without != .futureLeases
    }

    var isHeadFree: Bool { appending == nil || without == .headLock }

    // MARK: Other services

    mutating func beginAppend(_ event: Event) {
        guard appending == nil else { return }
        reserved += 1
        var event = event
        event.offset = reserved
        appending = event
    }

    mutating func endAppend(commits: Bool) throws {
        guard let event = appending else { return }
        appending = nil
        guard commits else {
            if reserved == event.offset { reserved -= 1 }
            return
        }
        try append(event)
    }

    private mutating func append(_ event: Event) throws {
        let isNext = event.offset == (log.last?.offset ?? 0) + 1
        try require(isNext || without == .headLock, "offsets are dense: \(event.offset) after \(log.count) events")
        log.insert(event, at: log.firstIndex { $0.offset > event.offset } ?? log.endIndex)
        head = max(head, event.offset)
        guard event.source == Counter.name else { return }
        var fold = folds[event.key] ?? Aggregate(key: event.key)
        try require(event.type != Rang.type || fold.state.nextDeadline != nil, "a deadline fires once")
        try fold.fold([event])
        folds[event.key] = fold
    }

    /// Changes a state without the lock of the cursor, as another program would.
    mutating func change(_ key: AggregateKey, id: UUID) throws {
        guard appending == nil else { return }
        var aggregate = states[key] ?? Aggregate(key: key)
        var slots = SlotAllocator(ceiling: nil)
        let events = try aggregate.decide(.command(.add(1)), Origin(id: id), at: time, policy: (), slots: &slots).sealed
        try write(events)
        states[key] = aggregate
        // Its events are not followed, so the cursor of the service passes them.
    }

    private mutating func write(_ events: [Event]) throws {
        for var event in events {
            reserved += 1
            event.offset = reserved
            try append(event)
        }
    }

    // MARK: Batches

    /// Reads the input of a batch under the lock of the cursor, as ``BatchReader`` does.
    ///
    /// - Returns: the input, with the aggregates of the database only.
    func input(_ request: GatherRequest<Counter>, now: ContinuousClock.Instant) -> BatchInput<Counter> {
        var input = BatchInput<Counter>()
        (input.storedPosition, input.position, input.head) = (cursor.position, cursor.position, head)
        input.now = time
        input.lastBatch = cursor.lastBatch
        input.isCacheValid =
            request.lastBatch != nil && (request.lastBatch == cursor.lastBatch || without == .lastBatch)
        if let lease = request.lease {
            input.holdsLease = without == .epoch || (lease.owner == cursor.owner && lease.epoch == cursor.epoch)
        }
        input.attempts = cursor.attempts
        input.isDoubtful = cursor.attempts > 0 || cursor.owner != nil && cursor.leaseUntil < now
        input.hasParkedKeys = !parked.isEmpty
        if let limit = request.log, input.holdsLease {
            let events = log.lazy.filter { [position = cursor.position] in $0.offset > position && $0.isFollowed }
            input.take(Array(events.prefix(limit)), deadlines(limit), until: time + .seconds(1), limit: limit)
        }
        for key in request.idempotencyKeys { input.stored[key] = answers[key] }
        let keys = Set(request.keys).union(input.events.map(\.key)).union(input.due)
        for key in keys {
            input.aggregates[key] = states[key]
            if parked.contains(key) { input.parked.insert(key) }
        }
        return input
    }

    private func deadlines(_ limit: Int) -> [(key: AggregateKey, due: Instant)] {
        let all = states.values.compactMap { one in
            parked.contains(one.key) ? nil : one.nextDeadline.map { (key: one.key, due: $0) }
        }.sorted { ($0.due, $0.key.description) < ($1.due, $1.key.description) }
        return Array(all.prefix { $0.due <= time }.prefix(limit + 1)) + all.filter { $0.due > time }.prefix(1)
    }

    /// Returns the last unread event about each of some aggregates.
    func unread(_ keys: [AggregateKey], after: Int, upTo: Int) -> [AggregateKey: Int] {
        var last: [AggregateKey: Int] = [:]
        for event in log where event.offset > after && event.offset <= upTo && event.isFollowed {
            if keys.contains(event.key) { last[event.key] = event.offset }
        }
        return last
    }

    /// Records inputs as tried.
    mutating func record(_ names: some Collection<String>, now: ContinuousClock.Instant) -> [String: Int] {
        var tries: [String: Int] = [:]
        for name in names {
            let count = (records[name]?.tries ?? 0) + 1
            records[name] = (count, now)
            tries[name] = count
        }
        return tries
    }

    /// Commits a batch, or refuses it as the guards of the statements do.
    mutating func commit(_ commit: BatchCommit<Counter>) throws -> Int {
        let batch = commit.batch
        if let assumption = commit.assumption, without != .assumption {
            guard assumption.lastBatch == cursor.lastBatch, assumption.lease.owner == cursor.owner,
                assumption.lease.epoch == cursor.epoch, cursor.attempts == 0, parked.isEmpty
            else { throw Failures.guarded }
        }
        if commit.assumption != nil {
            try require(batch.changed.keys.allSatisfy { !parked.contains($0) }, "no command changes a parked device")
        }
        // The primary key of the answers.
        guard batch.answers.allSatisfy({ answers[$0.idempotency.key] == nil }) else { throw Failures.guarded }
        for (key, change) in batch.changed where without != .baseVersion {
            guard states[key]?.eventCount ?? 0 == change.base else { throw Failures.guarded }
        }
        if let epoch = commit.epoch {
            guard epoch == cursor.epoch || without == .epoch else { throw Failures.guarded }
            try require(epoch == cursor.epoch, "only the owner of the lease takes events and deadlines")
        }
        let before = reserved
        try write(batch.events)
        for key in batch.changed.keys {
            states[key] = batch.aggregates[key]
            let (state, fold) = (states[key], folds[key])
            try require(
                state?.eventCount == fold?.eventCount && state?.state == fold?.state,
                "the state of \(key) is the fold of its events")
        }
        // A batch that assumes leaves the cursor, or moves it with the head.
        let position = commit.assumption == nil ? commit.position : cursor.position
        for event in log where event.offset > cursor.position && event.offset <= position && event.isFollowed {
            try require(handled.insert(event.offset).inserted, "event \(event.offset) is handled once")
        }
        for letter in batch.parkedInputs { parked.insert(letter.key) }
        for event in log where event.offset > cursor.position && event.offset <= position {
            guard event.isFollowed, unreadableEvents.contains(event.id) else { continue }
            try require(parked.contains(event.key), "an unreadable event parks its device")
        }
        if let trial = batch.trial { records[trial] = nil }
        for name in commit.clearedCommands { records[name] = nil }
        for (idempotency, body) in batch.answers { answers[idempotency.key] = (idempotency.fingerprint, body) }
        cursor.position = position == before ? reserved : position
        cursor.lastBatch = batch.id
        if commit.isAtHead { cursor.attempts = 0 }
        return reserved
    }

    /// Finds out whether a batch was committed, as the engine does.
    func settle(_ request: SettleRequest) -> PartitionMachine<Counter>.Settlement {
        let probe = request.probe.flatMap { probe in
            log.first { $0.id == probe.id && $0.offset > request.headBefore }
        }
        let settlement: PartitionMachine<Counter>.Settlement = request.settlement(
            lastBatch: cursor.lastBatch, head: head, probeOffset: without == .probe ? nil : probe?.offset)
        return settlement == .unknown && without == .unprovenBatches ? .notCommitted : settlement
    }

    // MARK: Checks

    /// Checks what must hold when everything is read.
    func checkEnd() throws {
        try require(log.indices.allSatisfy { log[$0].offset == $0 + 1 }, "offsets are dense")
        try require(cursor.position == head, "the log is read to its head")
        for event in log where event.isFollowed {
            try require(handled.contains(event.offset), "event \(event.offset) is handled")
        }
        for (key, fold) in folds {
            try require(
                states[key]?.eventCount == fold.eventCount && states[key]?.state == fold.state,
                "the state of \(key) is the fold of its events")
        }
    }
}

extension Event {
    var isFollowed: Bool { Counter.follows.contains(type) }
}

extension Failures {
    /// The error of `bus.expect`.
    static let guarded = CommitFailure(
        error: .server(ServerError(sqlState: "DM001", message: "guarded", queryIndex: 0)), dataQueries: 2)
}
