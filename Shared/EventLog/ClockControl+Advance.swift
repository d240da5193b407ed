import Postgres
public import Timeline

extension ClockControl {
    private static let lock = Statement("SELECT pg_try_advisory_lock(hashtext('dormouse.clock'), 0)")
    private static let unlock = Statement("SELECT pg_advisory_unlock(hashtext('dormouse.clock'), 0)")
    private static let step = Statement("SELECT bus.step_clock($1)")
    private static let deadlines = Statement("SELECT service, deadline FROM bus.deadlines()")
    private static let behind = Statement(
        """
        SELECT c.consumer, sum(p.head - c.log_offset)::int8
        FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition)
        WHERE c.log_offset < p.head GROUP BY c.consumer ORDER BY c.consumer
        """)

    /// The clock is one for all partitions; what is kept of its requests is in the first.
    private static let book = RequestBook(service: "ops", partition: 0)

    /// Moves time forward: to the earliest deadline of any service, waits until all is settled, and on to the next one, to
    /// the end.
    ///
    /// One advance at a time: another one waits. What live devices do meanwhile is outside the promise.
    ///
    /// - Parameters:
    ///   - patience: how long each step may take to settle, in real time.
    ///   - request: given when the caller may repeat it. The moment that it leads to is kept before the first step: what
    ///     repeats it goes on to the same one, and once that is reached changes nothing.
    /// - Returns: the clock after it, with everything settled; for a repeated one, with the moment that it came to then.
    /// - Throws: ``ClockError``, ``IdempotencyConflict``, or a `PostgresError`.
    public func advance(
        by interval: Interval, patience: Duration = .seconds(30), request: Idempotency? = nil
    ) async throws -> ClockReading {
        let end = ContinuousClock.now + patience
        var pause = Pause()
        while true {
            // The lock belongs to the session that the whole advance runs on: whoever loses the session loses the lock, and
            // whoever waits holds no connection.
            let reading: ClockReading? = try await pool.withConnection { connection in
                guard try await connection.run(Call(Self.lock))[0].bool(0) else { return nil }
                do {
                    let reading = try await advance(by: interval, patience, request, connection)
                    _ = try await connection.run(Call(Self.unlock))
                    return reading
                } catch {
                    // A cancelled task can't ask for anything: the session goes then, and the lock with it.
                    if (try? await connection.run(Call(Self.unlock))) == nil { await connection.close() }
                    throw error
                }
            }
            if let reading { return reading }
            guard ContinuousClock.now < end else { throw ClockError.advanceUnderWay }
            try await pause()
        }
    }

    private func advance(
        by interval: Interval, _ patience: Duration, _ request: Idempotency?, _ connection: Connection
    ) async throws -> ClockReading {
        var start = try Self.reading(try await connection.run(Call(Self.reading, rowsExpected: 1))[0])
        guard start.isVirtual else { throw ClockError.notVirtual }
        guard start.now + interval <= Instant.documented.upperBound else { throw ClockError.beyondCalendar }
        var target = Int((start.now + interval).milliseconds)
        if let request {
            switch try await begin(request, until: target, connection) {
            case .new: break
            case .underWay(let former): target = former
            case .answered(let answer):
                guard let moment = Int64(String(decoding: answer, as: UTF8.self)) else { throw IdempotencyConflict() }
                start.now = Instant(milliseconds: moment)
                return start
            }
        }
        try await settle(patience, connection)
        while true {
            let next = try await connection.run(Call(Self.deadlines)).map { try $0.int(1) }.min()
            let moment = min(next ?? .max, target)
            let reached = try await connection.run(Call(Self.step, [.int(moment)], rowsExpected: 1))[0].int(0)
            try await settle(patience, connection)
            guard reached < target else { break }
        }
        let end = try Self.reading(try await connection.run(Call(Self.reading, rowsExpected: 1))[0])
        if let request {
            let answer = Array(String(end.now.milliseconds).utf8)
            _ = try await connection.run(Self.book.closing(request, answer: answer))
        }
        return end
    }

    /// Takes the request down, with the moment that it leads to, and forgets old ones.
    private func begin(
        _ request: Idempotency, until target: Int, _ connection: Connection
    ) async throws -> RequestBook.Entry {
        _ = try await connection.run([Call(Statement("BEGIN")), Self.book.forgetting(limit: 1000)])
        let entry = try await Self.book.open(request, progress: target, connection)
        _ = try await connection.run(Call(.commit))
        return entry
    }

    /// Waits until nothing is left to do at this moment: the heads are H, every cursor is at H, no deadline has come, and the
    /// heads are still H. Nothing was appended in between then, so it holds although the reads are four snapshots (of
    /// several nodes, in a distributed log).
    private func settle(_ patience: Duration, _ connection: Connection) async throws {
        let end = ContinuousClock.now + patience
        var pause = Pause()
        while true {
            let rows = try await connection.run([
                Call(LogReader.heads), Call(Self.behind), Call(Self.deadlines), Call(Self.reading, rowsExpected: 1),
                Call(LogReader.heads),
            ])
            let now = try Self.reading(rows[3][0]).now
            var laggards: [String: Laggard] = [:]
            for row in rows[1] {
                let consumer = try row.text(0)
                laggards[consumer] = Laggard(consumer: consumer, events: try row.int(1))
            }
            for row in rows[2] {
                let service = try row.text(0)
                let deadline = Instant(milliseconds: Int64(try row.int(1)))
                if deadline <= now {
                    laggards[service, default: Laggard(consumer: service, events: 0)].deadline = deadline
                }
            }
            let isStill = try Self.heads(rows[0]) == Self.heads(rows[4])
            if laggards.isEmpty, isStill { return }
            guard ContinuousClock.now < end else {
                throw ClockError.notSettled(at: now, laggards: laggards.values.sorted { $0.consumer < $1.consumer })
            }
            try await pause()
        }
    }

    private static func heads(_ rows: Rows) throws(PostgresError) -> [Int] {
        try rows.map { row throws(PostgresError) in try row.int(1) }
    }
}

/// Between two looks at the database: 1 ms at first, at most 20 ms.
private struct Pause {
    private var length = Duration.milliseconds(1)

    mutating func callAsFunction() async throws {
        try await Task.sleep(for: length)
        length = min(length * 2, .milliseconds(20))
    }
}
