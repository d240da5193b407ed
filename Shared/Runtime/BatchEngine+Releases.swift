import Contracts
import EventLog
import Machines
import Postgres
import Records
import Timeline

/// An operator's order to free a parked device, and its progress.
struct Release: Sendable {
    let key: AggregateKey
    let discardsFirst: Bool
    let request: Idempotency?
    /// The entry of the audit trail. The first transaction adds it.
    let audit: AuditEntry?
    /// The number of processed letters.
    var taken = 0
    /// Whether any part is committed, by this call or an earlier one of the same request.
    var isBegun = false
    var isOver = false
    /// The states that need an upgrade before the release.
    var stale: [StoredState] = []
}

extension BatchEngine {
    /// The idempotency keys of operators' requests about an aggregate.
    nonisolated func book(of key: AggregateKey) -> IdempotencyStore {
        IdempotencyStore(service: M.name, partition: inbox(of: key).partition)
    }

    /// Processes each letter in its own transaction, so that earlier successes stay.
    ///
    /// - Returns: the number of processed letters.
    func release(_ order: Release) async throws -> Int {
        var order = order
        while !order.isOver {
            let now = order
            order = try await inTime { try await self.advance(now, $0) }
            guard !order.stale.isEmpty else { continue }
            try await upgrade(order.stale, of: inbox(of: order.key).partition)
            order.stale = []
        }
        look(inbox(of: order.key).partition)
        return order.taken
    }

    /// Fails if another session holds the cursor for too long, because the waiting connection is missing elsewhere.
    private func inTime<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        do { return try await pool.withConnection(body) } catch let error as PostgresError where error.isLockTimeout {
            throw DeadLetterError.heldUp
        }
    }

    /// Runs one transaction. It records the request with its first effect, and the progress with each later one. So a
    /// repeat after the end of this process continues behind the finished part.
    private func advance(_ order: Release, _ connection: Connection) async throws -> Release {
        var order = order
        let found = try await letter(of: order.key, connection)
        if let request = order.request {
            switch try await book(of: order.key).open(request, progress: order.taken, connection) {
            case .new: break
            case .underWay(let taken):
                order.taken = taken
                order.isBegun = true
            case .answered(let answer):
                guard let taken = Int(String(decoding: answer, as: UTF8.self)) else { throw IdempotencyConflict() }
                _ = try await connection.execute(Query(statements.rollback))
                order.taken = taken
                order.isOver = true
                return order
            }
        }
        guard let found else {
            guard order.isBegun else { throw DeadLetterError.notParked(order.key) }
            // Another order has finished the rest.
            order.isOver = true
            _ = try await connection.execute(noted(order) + [Query(statements.commit)])
            return order
        }
        if order.discardsFirst, !order.isBegun {
            guard found.due == nil else { throw DeadLetterError.deadlineStays }
            order.isOver = found.isLast
            _ = try await connection.execute(
                removal(of: found, order.key) + audited(found, order) + noted(order) + [Query(statements.commit)])
        } else {
            try await apply(found, &order, connection)
        }
        if order.stale.isEmpty { order.isBegun = true }
        return order
    }

    private func apply(_ found: StoredDeadLetter, _ order: inout Release, _ connection: Connection) async throws {
        let key = order.key
        let partition = inbox(of: key).partition
        var gathered = BatchInput<M>()
        let states = try await connection.execute(
            Query(
                statements.states,
                [.int4s([Int32(partition)]), .texts([key.description]), .int4s([Int32(partition)])]))
        gathered.form = found.form
        for row in states {
            let machine = machines[partition]
            gathered.take(try StoredState(row), unreadable: machine.unreadable, folded: machine.folded)
        }
        if !gathered.stale.isEmpty {
            // The worker upgrades the state outside of the lock, then processes the letter again.
            _ = try await connection.execute(Query(statements.rollback))
            return order.stale = Array(gathered.stale.values)
        }
        var slots = machines[partition].noSlots
        if let ceiling = slots.ceiling {
            slots = try slots.restored(
                try await connection.execute(
                    Query(statements.slots, [.int4(Int32(partition)), .int4(Int32(ceiling))])))
        }
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: gathered.aggregates, slots: slots)
        batch.form = gathered.writtenForm
        batch.faults = gathered.faults
        batch.refreshed = gathered.refreshed
        let isDone: Bool
        if let due = found.due {
            batch.moment = due
            isDone = inbox(of: key).progress.deciding { batch.run(deadlinesOf: key, until: due) }
        } else {
            let event = try await event(at: found.offset, in: partition, connection)
            if let reason = BatchInput<M>.tooNew(event) { throw DeadLetterError.failsAgain(reason: reason) }
            isDone = inbox(of: key).progress.deciding { batch.run(event) }
            if let halt = batch.halt { throw DeadLetterError.failsAgain(reason: halt.reason) }
        }
        if let reason = batch.parkedInputs.lazy.compactMap({ $0.reason }).first {
            throw DeadLetterError.failsAgain(reason: reason)
        }
        var after = order.isBegun ? [] : audited(found, order)
        if isDone {
            order.taken += 1
            order.isOver = found.isLast
            after += removal(of: found, key) + noted(order)
        }
        _ = try await connection.execute(batch.pipeline(statements, position: found.position, epoch: nil, after: after))
        if !batch.events.isEmpty { wakeUps.wakeUp(partition, types: batch.events.lazy.map({ $0.type })) }
    }

    private func removal(of letter: StoredDeadLetter, _ key: AggregateKey) -> [Query] {
        let parameters: [Parameter] = [
            .int4(Int32(inbox(of: key).partition)), .text(M.name), .text(key.description), .int(letter.offset),
        ]
        let remove = Query(Statements.removeLetter, parameters)
        return letter.isLast ? [remove, Query(Statements.unpark, Array(parameters.prefix(2)))] : [remove]
    }

    /// Returns the call that adds the order to the audit trail, with the place of its first letter.
    private func audited(_ letter: StoredDeadLetter, _ order: Release) -> [Query] {
        let partition = JSON.int(inbox(of: order.key).partition)
        let (name, place) = letter.due.map { ("due", JSON.string("\($0)")) } ?? ("offset", .int(letter.offset))
        return (order.audit?.with("partition", partition).with(name, place)).queries
    }

    /// Returns the calls that record the order's progress.
    private func noted(_ order: Release) -> [Query] {
        guard let request = order.request else { return [] }
        return order.isOver
            ? [book(of: order.key).closing(request, answer: Array(String(order.taken).utf8))]
            : [book(of: order.key).noting(request, progress: order.taken)]
    }

    private struct StoredDeadLetter {
        var offset: Int
        var due: Instant?
        var isLast: Bool
        var position: Int
        /// The stored version of the form in which states are written.
        var form: Int
    }

    /// Returns the first letter of a key, under the cursor's lock.
    private func letter(of key: AggregateKey, _ connection: Connection) async throws -> StoredDeadLetter? {
        let partition = Int32(inbox(of: key).partition)
        let rows = try await connection.execute([
            Query(statements.begin), Query(Statements.limitLocks),
            Query(Statements.lockCursors, [.int4s([partition]), .text(M.name)], rowsExpected: 1),
            Query(Statements.firstLetter, [.int4(partition), .text(M.name), .text(key.description)]),
        ])
        guard let (offset, due) = try rows[3].first?.decode((Int, Instant?).self) else { return nil }
        let cursor = rows[2][0]
        return StoredDeadLetter(
            offset: offset, due: due, isLast: rows[3].count == 1, position: try cursor.decode(Int.self, at: 1),
            form: try cursor.decode(Int.self, at: 11))
    }

    private func event(at offset: Int, in partition: Int, _ connection: Connection) async throws -> Event {
        let partitionParameter = Parameter.int4(Int32(partition))
        let rows = try await connection.execute([
            Query(LogReader.all, [partitionParameter, .int(offset - 1), .int(1)]),
            Query(LogReader.kept, [partitionParameter, .int(offset)]),
        ])
        for row in rows.compactMap({ $0.first }) {
            let event = try LogReader.event(row)
            if event.offset == offset { return event }
        }
        throw DeadLetterError.eventGone(partition: partition, offset: offset)
    }
}
