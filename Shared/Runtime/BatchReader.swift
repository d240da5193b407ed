import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Timeline

/// Reads the inputs of the batches of one or several partitions in one transaction.
///
/// The first pipeline locks the cursors, then reads. A snapshot from before the lock could be stale, so each read is a
/// statement of its own after the lock. Other pipelines follow only for rows that are still missing.
struct BatchReader<M: Machine> {
    /// Deadlines are read up to this time after the known clock. The clock of the database may be ahead a little.
    static var margin: Interval { .seconds(1) }
    /// A partition that was not served for this time may have an outage.
    private static var leastOutage: Interval { .seconds(1) }

    let statements: Statements
    let clock: SharedClock
    let caches: [StateCache<M>]
    let connection: Connection
    let requests: [GatherRequest<M>]
    var found: [Int: BatchInput<M>] = [:]
    var asked: [Int: Set<AggregateKey>] = [:]

    init(
        _ requests: [GatherRequest<M>], statements: Statements, clock: SharedClock, caches: [StateCache<M>],
        connection: Connection
    ) {
        self.requests = requests
        self.statements = statements
        self.clock = clock
        self.caches = caches
        self.connection = connection
    }

    /// Reads the inputs.
    ///
    /// - Returns: the inputs of each partition whose cursor no other session holds.
    mutating func read() async throws -> [Int: BatchInput<M>] {
        try await readFirst()
        try await readParkedAndOutages()
        try await readUnheard()
        try await readStates()
        return found
    }

    private var partitions: Parameter { .int4s(requests.map { Int32($0.partition) }) }

    // MARK: The first pipeline

    private mutating func readFirst() async throws {
        let isAlone = requests.count == 1
        var queries = [Query(statements.begin), Query(isAlone ? Statements.limitCursorLock : Statements.limitLocks)]
        let cursorsAt = queries.count
        queries.append(
            isAlone
                ? Query(Statements.lockCursors, [partitions, .text(M.name)], rowsExpected: 1)
                : Query(Statements.lockFreeCursors, [partitions, .text(M.name)]))
        // The locks of the commit wait longer: every service takes the heads.
        if isAlone { queries.append(Query(Statements.limitLocks)) }
        let headsAt = queries.count
        queries.append(Query(Statements.heads, [partitions], rowsExpected: requests.count))
        queries.append(Query(SharedClock.read, rowsExpected: 1))
        let answersAt = queries.count
        var answers: (partitions: [Int32], keys: [String]) = ([], [])
        var states: (partitions: [Int32], keys: [String]) = ([], [])
        for request in requests {
            let partition = Int32(request.partition)
            for key in request.idempotencyKeys {
                answers.partitions.append(partition)
                answers.keys.append(key)
            }
            let missing = caches[request.partition].missing(request.keys)
            asked[request.partition] = missing
            for key in missing {
                states.partitions.append(partition)
                states.keys.append(key.description)
            }
        }
        if !answers.keys.isEmpty {
            queries.append(
                Query(
                    statements.answers,
                    [
                        .int4s(answers.partitions), .text(M.name), .texts(answers.keys),
                        Statements.list(answers.partitions),
                    ]))
        }
        let statesAt = queries.count
        if !states.keys.isEmpty { queries.append(readStates(states)) }
        let logAt = queries.count
        let log = requests.filter { $0.log != nil }
        let until = clock.now + Self.margin
        queries += readLog(log, until: until)
        let slotsAt = queries.count
        let slots = requests.filter { $0.readsSlots }
        for request in slots { queries.append(readSlots(request)) }

        let sent = ContinuousClock.now
        let rows = try await connection.execute(queries)
        let sample = try ClockSample(rows[headsAt + 1][0], realAt: 4, asked: sent)
        clock.take(sample)
        for row in rows[cursorsAt] { try take(cursor: row, at: sample.real) }
        for row in rows[headsAt] { try take(head: row, at: sample.now) }
        for row in rows[answersAt..<statesAt].joined() {
            let (partition, key, fingerprint, answer) = try row.decode((Int, String, [UInt8], [UInt8]).self)
            found[partition]?.stored[key] = (fingerprint, answer)
        }
        for row in rows[statesAt..<logAt].joined() { try take(state: row) }
        try await takeLog(log, until: until, Array(rows[logAt..<slotsAt]))
        for (request, rows) in zip(slots, rows[slotsAt...]) {
            let slots = try restored(request, rows)
            found[request.partition]?.slots = slots
        }
        for request in requests { try await checkCache(request) }
    }

    /// - Parameter now: the real time by the clock of the database. On Citus that is the clock of the coordinator, which
    ///   also writes the moments.
    private mutating func take(cursor row: Row, at now: Instant) throws {
        let (partition, position, owner, epoch, last, parked, attempts, expires) = try row.decode(
            (Int, Int, UUID?, Int, UUID?, Int, Int, Instant?).self, at: 0)
        let isExpired = expires.map { $0 < now } ?? false
        guard let request = requests.first(where: { $0.partition == partition }) else { return }
        var input = BatchInput<M>()
        (input.storedPosition, input.position, input.lastBatch, input.attempts) = (position, position, last, attempts)
        input.form = try row.decode(Int.self, at: 11)
        // The sweeper of a newer program writes states without a batch.
        input.isCacheValid = request.lastBatch != nil && last == request.lastBatch && input.form <= M.version
        input.hasParkedKeys = parked > 0
        input.isDoubtful = attempts > 0 || isExpired
        if let lease = request.lease { input.holdsLease = owner == lease.owner && epoch == lease.epoch }
        if M.ownsLimits {
            input.outages.outage = try Self.outage(row, 9)
            let served = try row.decode(Instant?.self, at: 8)
            let isServed = input.holdsLease && !isExpired || served.map { $0 >= now - Self.leastOutage } ?? true
            if isServed {
                if input.holdsLease { input.outages.recorded = input.outages.outage }
            } else {
                unserved.insert(partition)
            }
        }
        found[partition] = input
    }

    /// The partitions that no process has served for a second: the next acquisition or renewal will record the outage,
    /// but commands need no lease and can come earlier.
    var unserved: Set<Int> = []

    static func outage(_ row: Row, _ column: Int) throws -> Outage? {
        guard case (let from?, let until?) = try row.decode((Instant?, Instant?).self, at: column) else { return nil }
        return Outage(from: from, until: until)
    }

    private mutating func take(head row: Row, at now: Instant) throws {
        let (partition, head, day) = try row.decode((Int, Int, Int).self)
        found[partition]?.head = head
        found[partition]?.day = day
        found[partition]?.now = now
    }

    /// Uses the cached aggregates of a valid cache, and drops an invalid one.
    private mutating func checkCache(_ request: GatherRequest<M>) async throws {
        guard let input = found[request.partition], !input.isCacheValid else { return }
        caches[request.partition].drop()
        guard input.slots == nil, request.noSlots.ceiling != nil else { return }
        let slots = try restored(request, try await connection.execute(readSlots(request)))
        found[request.partition]?.slots = slots
    }

    private func readSlots(_ request: GatherRequest<M>) -> Query {
        Query(statements.slots, [.int4(Int32(request.partition)), .int4(Int32(request.noSlots.ceiling ?? 0))])
    }

    private func restored(_ request: GatherRequest<M>, _ rows: Rows) throws -> SlotAllocator {
        try request.noSlots.restored(rows)
    }

    // MARK: The log

    private func readLog(_ log: [GatherRequest<M>], until: Instant) -> [Query] {
        guard !log.isEmpty else { return [] }
        var queries = [readEvents(log, in: UnreadDays.union(log.map { $0.days }))]
        for hasParkedKeys in [false, true] {
            let some = log.filter { $0.hasParkedKeys == hasParkedKeys }
            guard !some.isEmpty else { continue }
            queries.append(
                Query(
                    hasParkedKeys ? statements.deadlinesOfOthers : statements.deadlines,
                    [
                        .int4s(some.map { Int32($0.partition) }), .ints(some.map { ($0.log ?? 0) + 1 }),
                        .int(Int(until.milliseconds)),
                    ]))
        }
        return queries
    }

    private func readEvents(_ log: [GatherRequest<M>], in days: UnreadDays) -> Query {
        Query(
            statements.isDistributed ? LogReader.behindCursorsOfShard : LogReader.behindCursors,
            [
                .int4s(log.map { Int32($0.partition) }), .text(M.name), .ints(log.map { $0.log ?? 0 }),
                .texts(M.follows.sorted()), .int4(Int32(days.first ?? LogReader.anyDays.lowerBound)),
                .int4(Int32(days.last ?? LogReader.anyDays.upperBound)),
            ])
    }

    private mutating func takeLog(_ log: [GatherRequest<M>], until: Instant, _ rows: [Rows]) async throws {
        guard var first = rows.first else { return }
        let isComplete = log.allSatisfy { request in
            guard let input = found[request.partition] else { return true }
            return request.days.include(everythingAfter: input.storedPosition, upTo: input.day)
        }
        // For example a new day has begun.
        if !isComplete { first = try await connection.execute(readEvents(log, in: UnreadDays())) }
        var events: [Int: [Event]] = [:]
        for row in first {
            let event = try LogReader.event(row)
            events[event.partition, default: []].append(event)
        }
        var deadlines: [Int: [(key: AggregateKey, due: Instant)]] = [:]
        for row in rows.dropFirst().joined() {
            let (partition, key, due) = try row.decode((Int, AggregateKey, Instant).self)
            deadlines[partition, default: []].append((key, due))
        }
        for request in log {
            guard found[request.partition]?.holdsLease == true, let limit = request.log else { continue }
            found[request.partition]?.take(
                events[request.partition] ?? [], deadlines[request.partition] ?? [], until: until, limit: limit)
        }
    }
}
