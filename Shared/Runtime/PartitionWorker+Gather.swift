import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Timeline

/// The result of the first pipeline.
struct BatchInput<M: Machine>: Sendable {
    var storedPosition = 0
    var position = 0
    var head = 0
    /// The suite time from the clock of the database, read under the lock. So the clocks of the replicas do not matter.
    var now = Instant.epoch
    var lastBatch: UUID?
    var holdsLease = false
    var attempts = 0
    /// Whether owners died before one read to the head of the log. A deadline may have ended them.
    var isDoubtful = false
    var hasMore = false
    /// Whether the log was read to its head.
    var isAtHead = false
    var outages = OutageReading()
    var events: [Event] = []
    var due: [AggregateKey] = []
    var stored: [String: (fingerprint: [UInt8], answer: [UInt8])] = [:]
    var aggregates: [AggregateKey: Aggregate<M>] = [:]
    /// The sizes of the stored states that were read, in bytes.
    var sizes: [AggregateKey: Int] = [:]
    var slots = SlotAllocator(ceiling: nil)
    /// Aggregates with an unusable stored state.
    var faults: [AggregateKey: RuntimeError] = [:]
    var refreshed: Set<AggregateKey> = []
    /// States of an older machine that need an upgrade before a decision.
    var stale: [AggregateKey: StoredState] = [:]
    var parked: Set<AggregateKey> = []
    /// The reason why only a newer program can read the log further.
    var halt: String?

    /// Whether no input from the log is left: no events, due deadlines or outages.
    var isThrough: Bool { events.isEmpty && due.isEmpty && outages.unheard.isEmpty && !hasMore }
}

extension PartitionWorker {
    /// Runs the first pipeline: it locks the cursor, then reads the data of the batch. A snapshot from before the lock
    /// could be stale, so each read is a statement of its own after the lock.
    func gather(
        _ submissions: [Submission<M>], _ plan: BatchPlan, _ connection: Connection
    ) async throws -> BatchInput<M> {
        let partitionParameter = Parameter.int4(Int32(partition))
        let keys = submissions.map { $0.key }
        let asked = cache.missing(keys)
        let repeatable = submissions.compactMap { $0.idempotency?.key }
        var queries = [
            Query(statements.begin),
            Query(Statements.limitLocks),
            Query(statements.lockCursor, [partitionParameter, .text(M.name)], rowsExpected: 1),
            Query(statements.clockAndHead, [partitionParameter], rowsExpected: 1),
        ]
        /// Adds an optional query and returns its index; nil if it is not needed.
        func ask(_ call: Query, unless isNeedless: Bool) -> Int? {
            guard !isNeedless else { return nil }
            queries.append(call)
            return queries.count - 1
        }
        let answersAt = ask(
            Query(statements.idempotency, [partitionParameter, .text(M.name), .texts(repeatable)]),
            unless: repeatable.isEmpty)
        let statesAt = ask(
            Query(statements.states, [partitionParameter, .texts(asked.map { $0.description })]), unless: asked.isEmpty)
        let deadlinesAt = ask(
            Query(
                hasParkedKeys ? statements.deadlinesOfOthers : statements.deadlines,
                [partitionParameter, .int((plan.log ?? 0) + 1)]),
            unless: plan.log == nil)
        let eventsAt = ask(
            Query(
                LogReader.behindCursor,
                [partitionParameter, .text(M.name), .texts(M.follows.sorted()), .int(plan.log ?? 0)]),
            unless: plan.log == nil)
        let momentsAt = ask(storedMoments, unless: unheld.ceiling == nil || held != nil)
        let sent = ContinuousClock.now
        let rows = try await connection.execute(queries)
        let cursor = rows[2][0]
        var found = BatchInput<M>()
        let (position, owner, epoch, last, parked, attempts, isOver) = try cursor.decode(
            (Int, UUID?, Int, UUID?, Int, Int, Bool).self, at: 0)
        (found.storedPosition, found.position) = (position, position)
        (found.lastBatch, found.attempts) = (last, attempts)
        found.isDoubtful = attempts > 0 || isOver
        found.head = try rows[3][0].decode(Int.self, at: 4)
        let sample = try ClockSample(rows[3][0], realAt: 5, asked: sent)
        found.now = sample.now
        clock.take(sample)
        if let answersAt {
            for (key, fingerprint, answer) in try rows[answersAt].decode((String, [UInt8], [UInt8]).self) {
                found.stored[key] = (fingerprint, answer)
            }
        }
        let isCacheValid = lastBatch != nil && found.lastBatch == lastBatch
        // Moved, not copied: the batch changes it in place and returns it at the end.
        if isCacheValid { found.aggregates = cache.lend() } else { cache.drop() }
        let held = isCacheValid ? held : nil
        lastBatch = nil
        self.held = nil
        if let held {
            found.slots = held
        } else if unheld.ceiling != nil {
            let stored: Rows =
                if let momentsAt { rows[momentsAt] } else { try await connection.execute(storedMoments) }
            found.slots = try restored(stored)
        }
        var states = statesAt.map { Array(rows[$0]) } ?? []
        if parked > 0 { try await readParked(connection, &found) } else { hasParkedKeys = false }
        if let lease { found.holdsLease = owner == lease.owner && epoch == lease.epoch }
        try await readOutage(cursor, connection, &found)
        if let limit = plan.log, let deadlinesAt, let eventsAt, found.holdsLease {
            try readLog(rows[eventsAt], rows[deadlinesAt], limit, &found)
            try await readUnheard(limit, connection, &found)
        }
        let needed = Set(keys + found.events.map { $0.key } + found.due + found.outages.unheard).subtracting(asked)
            .filter { found.aggregates[$0] == nil }.map { $0.description }
        if !needed.isEmpty {
            states += try await connection.execute(Query(statements.states, [partitionParameter, .texts(needed)]))
        }
        try read(states, &found)
        stopBeforeNewerStates(&found)
        return found
    }

    /// The query for the stored slot reservations of the partition.
    var storedMoments: Query {
        Query(statements.slots, [.int4(Int32(partition)), .int4(Int32(unheld.ceiling ?? 0))])
    }

    func restored(_ rows: Rows) throws -> SlotAllocator {
        var slots = unheld
        for (page, taken) in try rows.decode((Int, [UInt8]).self) {
            guard slots.restore(Int64(page), taken) else { throw RuntimeError.failed }
        }
        return slots
    }

    private func readParked(_ connection: Connection, _ found: inout BatchInput<M>) async throws {
        hasParkedKeys = true
        let keys = try await connection.execute(Statements.parkedKeys, .partition(partition), .text(M.name))
        found.parked.formUnion(try keys.decode(AggregateKey.self))
    }

    private func readLog(
        _ events: Rows, _ deadlines: Rows, _ limit: Int, _ found: inout BatchInput<M>
    ) throws {
        for row in events {
            let event = try LogReader.event(row)
            if let reason = tooNew(event) {
                found.halt = reason
                found.position = max(found.position, event.offset - 1)
                return
            }
            found.events.append(event)
        }
        let bound = found.position + LogReader.scanLimit
        let isThrough = events.count < limit
        let isAtHead = isThrough && found.head <= bound
        // The head was read before the events, so the last event may have a higher offset. Commits follow the order of
        // offsets, so no earlier event is missing.
        found.position = max(
            found.position, isThrough ? min(found.head, bound) : 0, found.events.last?.offset ?? 0)
        guard isAtHead else {
            found.hasMore = true
            return
        }
        found.isAtHead = true
        let now = found.now
        nextDue = nil
        for (key, due) in try deadlines.decode((AggregateKey, Instant).self) {
            guard due <= now else {
                nextDue = due
                break
            }
            if !found.parked.contains(key) { found.due.append(key) }
        }
        found.hasMore = found.due.count > limit
        found.due = Array(found.due.prefix(limit))
    }

    /// Returns the reason if only a newer program can read the event.
    func tooNew(_ event: Event) -> String? {
        let known = M.newestVersions[event.type] ?? 1
        guard event.version > known else { return nil }
        return "\(event.type) at offset \(event.offset) has version \(event.version); this program reads up to \(known)"
    }

    func read(_ rows: [Row], _ found: inout BatchInput<M>) throws {
        for row in rows {
            let stored = try StoredState(row)
            let (key, version) = (stored.key, stored.machineVersion)
            found.sizes[key] = stored.binary.count
            if version > M.version {
                found.faults[key] = .newerState(key: key, version: version)
            } else if case .exact(let state) = M.stored(stored.binary, version: version) {
                found.aggregates[key] = stored.aggregate(state)
                if version < M.version { found.refreshed.insert(key) }
            } else if version == M.version || unreadable[key] == stored.eventCount {
                found.faults[key] = .malformedState(key: key)
            } else {
                // The upgrade reads the log, so it must not run under the lock.
                found.stale[key] = stored
            }
        }
    }

    /// Stops before aggregates with a state of a newer version: a newer program must decide about them.
    private func stopBeforeNewerStates(_ found: inout BatchInput<M>) {
        func isNewer(_ key: AggregateKey) -> Bool {
            if case .newerState = found.faults[key] { true } else { false }
        }
        if let index = found.events.firstIndex(where: { isNewer($0.key) }) {
            let event = found.events[index]
            found.halt = "the state of \(event.key) is newer than this program"
            found.position = max(found.storedPosition, event.offset - 1)
            found.events.removeSubrange(index...)
            found.due = []
            found.hasMore = false
        } else if let key = found.due.first(where: isNewer) {
            found.halt = "the state of \(key) is newer than this program"
            found.due.removeAll(where: isNewer)
        }
    }
}
