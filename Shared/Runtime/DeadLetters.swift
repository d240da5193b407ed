public import Contracts
import EventLog
import Machines
import Postgres
public import Timeline

/// Where one partition stands with this process.
public enum PartitionState: Sendable, Equatable {
    /// Another replica takes in its events and deadlines, or none does.
    case elsewhere
    case following
    /// Its last owner died; its inputs are tried one by one.
    case cautious
    /// The log has what only a newer program understands, with the reason. The lease is left to others.
    case halted(String)
}

/// An input that was set aside, or that waits behind one. Its device is parked: nothing of it is taken in.
public struct DeadLetter: Sendable, Equatable {
    public var key: AggregateKey
    public var partition: Int
    /// The event's place in the log; nil for a deadline.
    public var offset: Int?
    /// The moment of a deadline.
    public var due: Instant?
    /// Why it was set aside; nil where it only waits behind another.
    public var reason: String?
    /// Real time.
    public var setAsideAt: Instant
}

/// Why an operator's order about a parked device was not carried out.
public enum DeadLetterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The key has no dead letters.
    case notParked(AggregateKey)
    /// The input at fault failed again, so it stays where it is.
    case failsAgain(reason: String)
    /// A deadline is part of the device's state: it goes only by firing.
    case deadlineStays
    /// The event is no longer in the log.
    case eventGone(partition: Int, offset: Int)
    /// Somebody holds the partition too long; nothing was changed by the letter at hand. To be repeated after a moment.
    case heldUp

    public var description: String {
        switch self {
        case .notParked(let key): "\(key) is not parked"
        case .failsAgain(let reason): "it failed again: \(reason)"
        case .deadlineStays: "a deadline can't be discarded; replay it once the program is mended"
        case .heldUp: "the partition is held up; try again in a moment"
        case .eventGone(let partition, let offset): "the event at \(partition):\(offset) is no longer in the log"
        }
    }
}

extension DurableRuntime {
    /// What this service has set aside, by partition, key and place.
    public func deadLetters(limit: Int = 1000) async throws -> [DeadLetter] {
        try await pool.run(Call(Statements.letters, [.text(M.name), .int(limit)])).map { row in
            let offset = try row.int(2)
            return DeadLetter(
                key: AggregateKey(try row.text(1)), partition: try row.int(0), offset: offset == 0 ? nil : offset,
                due: try row.optionalInt(3).map { Instant(milliseconds: Int64($0)) }, reason: try row.optionalText(4),
                setAsideAt: Instant(milliseconds: try row.timestampMilliseconds(5)))
        }
    }

    /// How many devices are parked, by all replicas together. Worth an alert.
    public func parkedDevices() async throws -> Int {
        try await pool.run(Call(Statements.parkedCount, [.text(M.name)], rowsExpected: 1))[0].int(0)
    }

    /// Takes in, in order, what was set aside of a device, and frees it.
    ///
    /// - Returns: how many letters there were.
    /// - Throws: ``DeadLetterError``; what went well before the fault is done, and the device stays parked.
    @discardableResult
    public func replay(_ key: AggregateKey) async throws -> Int { try await worker(of: key).replay(key) }

    /// Forgets the event at fault, takes in what waits behind it, and frees the device.
    ///
    /// - Returns: how many letters were taken in.
    /// - Throws: ``DeadLetterError``.
    @discardableResult
    public func discard(_ key: AggregateKey) async throws -> Int {
        let worker = worker(of: key)
        return try await worker.discardFirst(of: key) ? try await worker.replay(key) : 0
    }
}

extension PartitionWorker {
    /// Each letter in a transaction of its own: what went well stays so.
    func replay(_ key: AggregateKey) async throws -> Int {
        var count = 0
        while true {
            let progress = try await inTime { try await self.replayFirst(of: key, count == 0, $0) }
            switch progress {
            case .tookSome: continue
            case .tookLetter: count += 1
            case .tookLast:
                wake()
                return count + 1
            }
        }
    }

    /// Gives up where somebody holds the cursor too long: a connection that waits is one less for everybody else.
    private func inTime<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
        do { return try await pool.withConnection(body) } catch let error as PostgresError where error.isLockTimeout {
            throw DeadLetterError.heldUp
        }
    }

    private enum Progress { case tookSome, tookLetter, tookLast }

    private func replayFirst(of key: AggregateKey, _ isFirst: Bool, _ connection: Connection) async throws -> Progress {
        let place = Parameter.int4(Int32(partition))
        guard let found = try await letter(of: key, connection) else { throw DeadLetterError.notParked(key) }
        var gathered = Gathered<M>()
        let states = try await connection.run(Call(statements.states, [place, .texts([key.description])]))
        try await read(Array(states), connection, &gathered)
        var batch = Batch<M>(partition: partition, policy: policy, aggregates: gathered.aggregates)
        batch.faults = gathered.faults
        batch.refreshed = gathered.refreshed
        let isDone: Bool
        if let due = found.due {
            isDone = batch.run(deadlinesOf: key, until: due)
        } else {
            let event = try await event(at: found.offset, connection)
            if let reason = tooNew(event) { throw DeadLetterError.failsAgain(reason: reason) }
            isDone = batch.run(event)
        }
        if let reason = batch.setAside.lazy.compactMap(\.reason).first {
            throw DeadLetterError.failsAgain(reason: reason)
        }
        var after: [Call] = []
        if isDone {
            let parameters = [place, .text(M.name), .text(key.description), .int(found.offset)]
            after.append(Call(Statements.removeLetter, parameters))
            if found.isLast { after.append(Call(Statements.unpark, Array(parameters.prefix(2)))) }
        }
        _ = try await connection.run(
            batch.flight(statements, position: found.position, epoch: nil, after: after))
        if !batch.events.isEmpty { hints.hint(partition) }
        return isDone ? (found.isLast ? .tookLast : .tookLetter) : .tookSome
    }

    private struct Letter {
        var offset: Int
        var due: Instant?
        var isLast: Bool
        var position: Int
    }

    /// The first letter of a key, under the cursor's lock.
    private func letter(of key: AggregateKey, _ connection: Connection) async throws -> Letter? {
        let place = Parameter.int4(Int32(partition))
        let rows = try await connection.run([
            Call(statements.begin), Call(Statements.limitLocks),
            Call(statements.lockCursor, [place, .text(M.name)], rowsExpected: 1),
            Call(Statements.firstLetter, [place, .text(M.name), .text(key.description)]),
        ])
        guard let row = rows[3].first else { return nil }
        return Letter(
            offset: try row.int(0), due: try row.optionalInt(1).map { Instant(milliseconds: Int64($0)) },
            isLast: rows[3].count == 1, position: try rows[2][0].int(0))
    }

    private func event(at offset: Int, _ connection: Connection) async throws -> Event {
        let rows = try await connection.run(
            Call(LogReader.all, [.int4(Int32(partition)), .int(offset - 1), .int(1)]))
        guard let event = try rows.first.map({ try LogReader.event($0) }), event.offset == offset else {
            throw DeadLetterError.eventGone(partition: partition, offset: offset)
        }
        return event
    }

    /// - Returns: whether others wait behind it.
    func discardFirst(of key: AggregateKey) async throws -> Bool {
        try await inTime { connection in
            guard let found = try await self.letter(of: key, connection) else { throw DeadLetterError.notParked(key) }
            guard found.due == nil else { throw DeadLetterError.deadlineStays }
            let parameters: [Parameter] = [
                .int4(Int32(self.partition)), .text(M.name), .text(key.description), .int(found.offset),
            ]
            var calls = [Call(Statements.removeLetter, parameters)]
            if found.isLast { calls.append(Call(Statements.unpark, Array(parameters.prefix(2)))) }
            _ = try await connection.run(calls + [Call(self.statements.commit)])
            return !found.isLast
        }
    }
}
