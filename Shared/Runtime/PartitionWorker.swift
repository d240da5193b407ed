import DequeModule
import Contracts
import EventLog
import Foundation
import Logging
import Machines
import OrderedCollections
import Postgres
import Records
import Timeline

/// Runs one service's machine on one partition, batch after batch. While a batch commits, the next one gathers.
actor PartitionWorker<M: Machine> {
    /// At most so many commands wait; more are refused as overloaded.
    static var queueLimit: Int { 4096 }
    static var batchLimit: Int { 500 }
    static var inputLimit: Int { 200 }
    /// Aggregates that stay in memory for each partition.
    static var cacheLimit: Int { 4096 }

    typealias Waiting = (submission: Submission<M>, caller: CheckedContinuation<Answer, any Error>)

    let partition: Int
    let pool: ConnectionPool
    let clock: SharedClock
    let policy: M.Policy
    let hints: HintSender
    let statements: Statements
    let logger: Logger
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private var queue: Deque<Waiting> = []
    private var isStopping = false
    private var lookAtLog = false
    /// The lease under which events and deadlines are taken; nil while another replica holds it.
    private var lease: (owner: UUID, epoch: Int)?
    /// Valid while the cursor row still names `lastBatch`.
    private var cache: [AggregateKey: Aggregate<M>] = [:]
    private var lastBatch: UUID?
    /// The earliest deadline known here.
    private var nextDue: Instant?

    init(
        partition: Int, pool: ConnectionPool, clock: SharedClock, policy: M.Policy, hints: HintSender, logger: Logger
    ) {
        self.partition = partition
        self.pool = pool
        self.clock = clock
        self.policy = policy
        self.hints = hints
        self.logger = logger
        statements = Statements(service: M.name)
    }

    /// Queues a command and waits until it is committed or refused.
    func submit(_ submission: Submission<M>) async throws -> Answer {
        guard !isStopping else { throw RuntimeError.stopping }
        guard queue.count < Self.queueLimit else { throw RuntimeError.overloaded }
        return try await withCheckedThrowingContinuation { caller in
            queue.append((submission, caller))
            signal.continuation.yield()
        }
    }

    /// Looks at the log and the deadlines in the next batch, which comes now.
    func wake() {
        guard lease != nil else { return }
        lookAtLog = true
        signal.continuation.yield()
    }

    /// Tells when the earliest known deadline is due; wakes the worker if it is.
    func wakeIfDue() {
        if let nextDue, nextDue <= clock.now { wake() }
    }

    func hold(owner: UUID, epoch: Int) {
        guard lease?.epoch != epoch else { return }
        lease = (owner, epoch)
        wake()
    }

    func letGo() { lease = nil }

    /// Runs until ``stop()``; then finishes what waits.
    func run() async {
        var iterator = signal.stream.makeAsyncIterator()
        while await iterator.next() != nil {
            while !queue.isEmpty || lookAtLog {
                do { try await batch() } catch {
                    logger.error("a batch failed", metadata: ["partition": "\(partition)", "error": "\(error)"])
                    lookAtLog = false
                    break
                }
            }
            if isStopping, queue.isEmpty { break }
        }
        for waiting in queue { waiting.caller.resume(throwing: RuntimeError.stopping) }
        queue.removeAll()
    }

    func stop() {
        isStopping = true
        signal.continuation.yield()
    }

    private func batch() async throws {
        let waiting = Array(queue.prefix(Self.batchLimit))
        queue.removeFirst(waiting.count)
        let withLog = lookAtLog && lease != nil
        lookAtLog = false
        do {
            try await commit(waiting, withLog: withLog, retries: 3)
        } catch {
            lastBatch = nil
            cache.removeAll()
            for one in waiting { one.caller.resume(throwing: RuntimeError.databaseUnavailable) }
            throw error
        }
    }

    /// Runs a batch to its commit and answers its callers. Throws before any caller was answered, or not at all.
    private func commit(_ waiting: [Waiting], withLog: Bool, retries: Int) async throws {
        let done: Done
        do {
            done = try await pool.withConnection { connection in
                try await self.attempt(waiting.map(\.submission), withLog: withLog, connection)
            }
        } catch let unknown as UnknownCommit<M> {
            done = try await settle(unknown, retries: retries)
            guard done.isCommitted else {
                return try await commit(waiting, withLog: withLog, retries: retries - 1)
            }
        } catch let error as PostgresError where retries > 0 && (error.isRetryable || error.isConnectionProblem) {
            lastBatch = nil
            cache.removeAll()
            return try await commit(waiting, withLog: withLog, retries: retries - 1)
        }
        take(done)
        for (one, verdict) in zip(waiting, done.batch.verdicts) {
            switch verdict {
            case .answer(let body):
                one.caller.resume(
                    returning: Answer(body: body, partition: partition, offset: done.head, isReplay: false))
            case .replay(let body):
                one.caller.resume(
                    returning: Answer(body: body, partition: partition, offset: done.head, isReplay: true))
            case .refused(let error): one.caller.resume(throwing: error)
            }
        }
        if !done.batch.events.isEmpty { hints.hint(partition) }
    }

    /// The cache after a batch: valid if, and only if, the next batch finds this one's id in the cursor row.
    private func take(_ done: Done) {
        cache = done.batch.aggregates
        if cache.count > Self.cacheLimit { cache.removeAll(keepingCapacity: true) }
        lastBatch = done.lastBatch
        if done.hasMore { lookAtLog = true }
        for key in done.batch.changed.keys {
            if let due = done.batch.aggregates[key]?.state.nextDeadline {
                nextDue = nextDue.map { min($0, due) } ?? due
            }
        }
    }

    struct Done {
        var batch: Batch<M>
        var head: Int
        var lastBatch: UUID?
        var hasMore = false
        var isCommitted = true
    }

    private func attempt(_ submissions: [Submission<M>], withLog: Bool, _ connection: Connection) async throws -> Done {
        let first = try await gather(submissions, withLog: withLog, connection)
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: first.aggregates)
        let now = clock.now
        for event in first.events { try batch.run(event) }
        for key in first.due { try batch.fire(key, until: now) }
        for submission in submissions { batch.run(submission, at: now, stored: first.stored) }
        guard !batch.isEmpty || first.position != first.storedPosition else {
            _ = try await connection.run(Call(statements.rollback))
            return Done(batch: batch, head: first.head, lastBatch: first.lastBatch, hasMore: first.hasMore)
        }
        let rows: [Rows]
        do {
            rows = try await connection.run(batch.flight(statements, position: first.position))
        } catch {
            // A server that shuts down may have committed before it said so: whatever broke the connection, only the cursor
            // row knows.
            throw error.isConnectionProblem ? UnknownCommit(batch: batch) as any Error : error
        }
        let head = try rows[rows.count - 2][0].int(0)
        return Done(batch: batch, head: head, lastBatch: batch.id, hasMore: first.hasMore)
    }

    /// After a commit whose answer was lost: locks the cursor row, which waits for the other end's transaction to be over, and
    /// compares its last batch.
    private func settle(_ unknown: UnknownCommit<M>, retries: Int) async throws -> Done {
        lastBatch = nil
        cache.removeAll()
        do {
            let rows = try await pool.withConnection { connection in
                try await connection.run([
                    Call(self.statements.begin),
                    Call(self.statements.lockCursor, [.int4(Int32(self.partition)), .text(M.name)], rowsExpected: 1),
                    Call(self.statements.head, [.int4(Int32(self.partition))], rowsExpected: 1),
                    Call(self.statements.rollback),
                ])
            }
            let last = try rows[1][0].optionalUUID(3)
            var done = Done(batch: unknown.batch, head: try rows[2][0].int(0), lastBatch: last)
            done.isCommitted = last == unknown.batch.id
            if !done.isCommitted { done.lastBatch = nil }
            return done
        } catch let error as PostgresError where retries > 0 && error.isConnectionProblem {
            return try await settle(unknown, retries: retries - 1)
        }
    }
}

/// The connection was lost while the second flight was under way: it may or may not have committed.
struct UnknownCommit<M: Machine>: Error {
    let batch: Batch<M>
}

/// What the first flight found.
struct Gathered<M: Machine>: Sendable {
    var storedPosition = 0
    var position = 0
    var head = 0
    var lastBatch: UUID?
    var hasMore = false
    var events: [Event] = []
    var due: [AggregateKey] = []
    var stored: [String: (fingerprint: [UInt8], answer: [UInt8])] = [:]
    var aggregates: [AggregateKey: Aggregate<M>] = [:]
}

extension PartitionWorker {
    /// The first flight: takes the cursor's lock, then reads what the batch needs. A snapshot taken after the wait for the lock
    /// is fresh, so everything comes in statements of its own behind it.
    private func gather(
        _ submissions: [Submission<M>], withLog: Bool, _ connection: Connection
    ) async throws -> Gathered<M> {
        let place = Parameter.int4(Int32(partition))
        let keys = submissions.map(\.key)
        var calls = [
            Call(statements.begin),
            Call(statements.lockCursor, [place, .text(M.name)], rowsExpected: 1),
            Call(SharedClock.read, rowsExpected: 1),
            Call(statements.head, [place], rowsExpected: 1),
            Call(statements.idempotency, [place, .text(M.name), .texts(submissions.compactMap(\.idempotency?.key))]),
            Call(statements.states, [place, .texts(missing(keys))]),
        ]
        if withLog { calls.append(Call(statements.deadlines, [place, .int(Self.inputLimit + 1)])) }
        let rows = try await connection.run(calls)
        var found = Gathered<M>()
        found.storedPosition = try rows[1][0].int(0)
        found.position = found.storedPosition
        found.lastBatch = try rows[1][0].optionalUUID(3)
        found.head = try rows[3][0].int(0)
        clock.take(try SharedClock.setting(rows[2][0]))
        for row in rows[4] { found.stored[try row.text(0)] = (try row.bytes(1), try row.bytes(2)) }
        let isCacheValid = found.lastBatch == lastBatch && lastBatch != nil
        if isCacheValid { found.aggregates = cache }
        for row in rows[5] { try read(row, into: &found) }
        let holdsLease =
            try lease.map { try rows[1][0].optionalUUID(1) == $0.owner && rows[1][0].int(2) == $0.epoch } ?? false
        if withLog, holdsLease { try await readLog(rows[6], connection, &found) }
        var needed = keys + found.events.map(\.key) + found.due
        needed.removeAll { found.aggregates[$0] != nil }
        if !needed.isEmpty, !isCacheValid || withLog {
            let more = try await connection.run(Call(statements.states, [place, .texts(needed.map(\.description))]))
            for row in more { try read(row, into: &found) }
        }
        return found
    }

    private func missing(_ keys: [AggregateKey]) -> [String] {
        keys.filter { cache[$0] == nil }.map(\.description)
    }

    private func readLog(_ deadlines: Rows, _ connection: Connection, _ found: inout Gathered<M>) async throws {
        let rows = try await connection.run(
            Call(
                LogReader.following,
                [
                    .int4(Int32(partition)), .int(found.position), .texts(M.follows.sorted()), .int(Self.inputLimit),
                ]))
        for row in rows { found.events.append(try LogReader.event(row)) }
        let isAtHead = found.events.count < Self.inputLimit
        // The head was read before the events, so the last event may lie behind it; commit order is offset order, so nothing
        // before that one is missing.
        found.position = max(found.position, isAtHead ? found.head : 0, found.events.last?.offset ?? 0)
        guard isAtHead else {
            found.hasMore = true
            return
        }
        let now = clock.now
        nextDue = nil
        for row in deadlines {
            let due = Instant(milliseconds: Int64(try row.int(1)))
            guard due <= now else {
                nextDue = due
                break
            }
            found.due.append(AggregateKey(try row.text(0)))
        }
        found.hasMore = found.due.count > Self.inputLimit
    }

    private func read(_ row: Row, into found: inout Gathered<M>) throws {
        let key = AggregateKey(try row.text(0))
        let version = try row.int(2)
        guard version <= M.version else { throw RuntimeError.newerState(key: key, version: version) }
        guard version == M.version, let state = M(binary: try row.bytes(1)) else {
            throw RuntimeError.malformedState(key: key)
        }
        found.aggregates[key] = Aggregate(
            key: key, state: state, now: Instant(milliseconds: Int64(try row.int(4))), eventCount: try row.int(3))
    }
}
