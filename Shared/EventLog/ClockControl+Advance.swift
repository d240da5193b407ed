import Postgres
public import Timeline

extension ClockControl {
    private static let lock = Statement("SELECT pg_try_advisory_lock(hashtext('dormouse.clock'), 0)")
    private static let unlock = Statement("SELECT pg_advisory_unlock(hashtext('dormouse.clock'), 0)")
    private static let step = Statement("SELECT bus.step_clock($1)")
    private static let hint = Statement("SELECT pg_notify($1, $2)")
    /// A hint may be lost, and its effect ends. So `ops` repeats it while a consumer lags.
    private static let hintInterval = Duration.milliseconds(100)
    private static let deadlines = Statement("SELECT service, deadline FROM bus.deadlines()")
    private static let behind = Statement(
        """
        SELECT c.consumer, sum(p.head - c.log_offset)::int8
        FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition)
        WHERE c.log_offset < p.head GROUP BY c.consumer ORDER BY c.consumer
        """)

    /// The requests to advance. The clock has no partition, so partition 0 stores them.
    private static let book = IdempotencyStore(service: "ops", partition: 0)

    /// Moves time forward in steps, one for each deadline of any service. After each step it waits until all services
    /// have settled.
    ///
    /// One advance runs at a time: another one waits. Actions of live devices meanwhile are not waited for.
    ///
    /// - Parameters:
    ///   - steps: the most steps, so that a caller can act between two deadlines; nil for all. A repeated request counts
    ///     its own steps.
    ///   - patience: the longest time for each step to settle, in real time; also the longest wait for another advance.
    ///   - audit: the entry of the audit trail. The first step adds it. A repeated request that continues adds its own.
    ///   - afterSettling: called with the heads each time that all services have settled. The clock stands meanwhile. If
    ///     it returns true, the services settle again before the next step.
    ///   - request: the idempotency key, if the caller may repeat the request. The target is stored before the first
    ///     step. A repeated request continues to the same target; after it is reached, it changes nothing.
    /// - Returns: the clock after the advance; for a repeated request, with the time that the first one reached.
    /// - Throws: ``ClockError``, ``IdempotencyConflict``, or a `PostgresError`.
    public func advance(
        by interval: Interval, steps: Int? = nil, patience: Duration = .seconds(30), request: Idempotency? = nil,
        audit: AuditEntry? = nil, afterSettling: @Sendable ([Int: Int]) async throws -> Bool = { _ in false }
    ) async throws -> ClockReading {
        let end = ContinuousClock.now + patience
        var pause = Pause()
        while true {
            // The lock belongs to the session of the whole advance, and is released if the session ends. A waiting
            // advance holds no connection.
            let reading: ClockReading? = try await pool.withConnection { connection in
                guard try await connection.execute(Self.lock)[0].decode(Bool.self) else { return nil }
                do {
                    let reading = try await advance(
                        by: interval, steps, patience, request, audit, afterSettling, connection)
                    try await connection.execute(Self.unlock)
                    return reading
                } catch {
                    // A cancelled task can't send a query: close the session, which releases the lock.
                    if (try? await connection.execute(Self.unlock)) == nil { await connection.close() }
                    throw error
                }
            }
            if let reading { return reading }
            guard ContinuousClock.now < end else { throw ClockError.advanceUnderWay }
            try await pause()
        }
    }

    private func advance(
        by interval: Interval, _ steps: Int?, _ patience: Duration, _ request: Idempotency?,
        _ audit: AuditEntry?, _ afterSettling: @Sendable ([Int: Int]) async throws -> Bool, _ connection: Connection
    ) async throws -> ClockReading {
        var start = try Self.reading(try await connection.execute(Self.reading, rowsExpected: 1)[0])
        guard start.isVirtual else { throw ClockError.notVirtual }
        guard interval <= Instant.documented.upperBound - start.now else { throw ClockError.beyondCalendar }
        var target = Int((start.now + interval).milliseconds)
        if let request {
            switch try await begin(request, until: target, connection) {
            case .new: break
            case .underWay(let former): target = former
            case .answered(let answer):
                guard let end = Int64(String(decoding: answer, as: UTF8.self)) else { throw IdempotencyConflict() }
                start.now = Instant(milliseconds: end)
                return start
            }
        }
        while try await afterSettling(settle(patience, connection)) {}
        var taken = 0
        while taken < steps ?? .max {
            taken += 1
            let next = try await connection.execute(Self.deadlines).decode((String, Int).self).map(\.1).min()
            let moment = min(next ?? .max, target)
            let step = Query(Self.step, [.int(moment)], rowsExpected: 1)
            let reached = try await connection.execute([step] + (taken == 1 ? audit.queries : []))[0][0].decode(
                Int.self)
            while try await afterSettling(settle(patience, connection)) {}
            guard reached < target else { break }
        }
        let end = try Self.reading(try await connection.execute(Self.reading, rowsExpected: 1)[0])
        if let request {
            let answer = Array(String(end.now.milliseconds).utf8)
            _ = try await connection.execute(Self.book.closing(request, answer: answer))
        }
        return end
    }

    /// Stores the request with its target, and deletes old requests.
    private func begin(
        _ request: Idempotency, until target: Int, _ connection: Connection
    ) async throws -> IdempotencyStore.Entry {
        _ = try await connection.execute([Query(Statement("BEGIN")), Self.book.forgetting(limit: 1000)])
        let entry = try await Self.book.open(request, progress: target, connection)
        try await connection.execute(.commit)
        return entry
    }

    /// Waits until all services have settled: the heads are H, every cursor is at H, no deadline is due, and the heads
    /// are still H. Then no event was appended between the reads. So each read may be a snapshot of its own, also of
    /// several nodes in a distributed log. The deadlines cost the most, so they are read only when every cursor is at H.
    ///
    /// - Returns: the heads.
    private func settle(_ patience: Duration, _ connection: Connection) async throws -> [Int: Int] {
        let end = ContinuousClock.now + patience
        var pause = Pause()
        var nextHint = ContinuousClock.now
        while true {
            let rows = try await connection.execute([Query(LogReader.heads), Query(Self.behind)])
            var laggards: [String: Laggard] = [:]
            for (consumer, events) in try rows[1].decode((String, Int).self) {
                laggards[consumer] = Laggard(consumer: consumer, events: events)
            }
            let isOver = ContinuousClock.now >= end
            if laggards.isEmpty || isOver {
                let later = try await connection.execute([
                    Query(Self.deadlines), Query(Self.reading, rowsExpected: 1), Query(LogReader.heads),
                ])
                let now = try Self.reading(later[1][0]).now
                for (service, deadline) in try later[0].decode((String, Instant).self) where deadline <= now {
                    laggards[service, default: Laggard(consumer: service, events: 0)].deadline = deadline
                }
                let heads = try LogReader.heads(later[2])
                if laggards.isEmpty, try LogReader.heads(rows[0]) == heads { return heads }
                guard !isOver else {
                    throw ClockError.notSettled(at: now, laggards: laggards.values.sorted { $0.consumer < $1.consumer })
                }
            }
            if nextHint <= .now {
                _ = try await connection.execute(
                    Self.hint, .text(WakeUpSender.channel), .text(WakeUpReceiver.settlingPayload))
                nextHint = .now + Self.hintInterval
            }
            try await pause()
        }
    }
}

/// The pause between two reads of the database: 1 ms at first, at most 20 ms.
private struct Pause {
    private var length = Duration.milliseconds(1)

    mutating func callAsFunction() async throws {
        try await Task.sleep(for: length)
        length = min(length * 2, .milliseconds(20))
    }
}
