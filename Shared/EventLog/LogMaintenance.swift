public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization
import Timeline

/// Keeps the log in shape: a table for each of the days to come, snapshots of the days that are over, and what is older than
/// the retention dropped. One process at a time does it, however many run it.
///
/// It changes tables, so it needs the rights of their owner. With a service's role it can keep days ahead and no more.
public struct LogMaintenance: Service {
    /// With fewer days ahead than this a process is not ready.
    public static let fewestDaysAhead = 2
    static let daysAhead = 7

    private let pool: ConnectionPool
    private let retentionDays: Int?
    private let interval: Duration
    private let standing = Standing()
    let logger: Logger

    private final class Standing: Sendable { let fault = Mutex<String?>(nil) }

    /// The consequence of repeated failures; nil while the upkeep succeeds.
    public var fault: String? { standing.fault.withLock { $0 } }

    /// - Parameters:
    ///   - pool: of the schema's owner.
    ///   - retentionDays: whole days before today that stay; nil keeps days ahead and does nothing else, for which a service's
    ///     role is enough.
    ///   - interval: from one round to the next.
    public init(
        pool: ConnectionPool, retentionDays: Int? = 30, interval: Duration = .seconds(600), logger: Logger
    ) {
        precondition(retentionDays ?? 1 > 0, "today's events can't be dropped")
        self.pool = pool
        self.retentionDays = retentionDays
        self.interval = interval
        self.logger = logger
    }

    /// What one round did.
    public struct Round: Sendable, Equatable {
        /// The tables that were dropped, oldest first.
        public var dropped: [String] = []
        /// The consumers that still have to read the oldest day that is due to be dropped.
        public var waitsFor: [String] = []
    }

    /// Runs until graceful shutdown or cancellation, a round at once and then one each interval.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var streak = FailureStreak()
            while true {
                var pause = interval
                do {
                    _ = try await round()
                    streak.end()
                    standing.fault.withLock { $0 = nil }
                } catch let error as PostgresError {
                    pause = streak.fail(within: interval)
                    tell(error, streak)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func tell(_ error: PostgresError, _ streak: FailureStreak) {
        let consequence = "tables for days ahead run out" + (retentionDays == nil ? "" : ", and old days stay")
        if streak.isLasting {
            standing.fault.withLock { $0 = "the log's upkeep fails again and again: \(consequence)" }
        }
        logger.log(
            level: streak.level,
            streak.isLasting ? "the log's upkeep fails again and again" : "the log's upkeep failed",
            metadata: ["error": "\(error)", "failures": "\(streak.count)", "consequence": "\(consequence)"])
    }

    private static let lock = Statement("SELECT pg_try_advisory_lock(hashtext('dormouse.upkeep'), 0)")
    private static let unlock = Statement("SELECT pg_advisory_unlock(hashtext('dormouse.upkeep'), 0)")

    /// One round.
    ///
    /// - Returns: nil where another process is at it.
    public func round() async throws -> Round? {
        try await pool.withConnection { connection in
            guard try await connection.run(Call(Self.lock))[0].bool(0) else { return nil }
            do {
                let round = try await upkeep(connection)
                _ = try await connection.run(Call(Self.unlock))
                return round
            } catch {
                // Ends the session, and so the lock.
                await connection.close()
                throw error
            }
        }
    }

    private func upkeep(_ connection: Connection) async throws -> Round {
        _ = try await connection.run(Call(Self.ensureDays, [.int4(Int32(Self.daysAhead))]))
        var round = Round()
        guard let retentionDays else { return round }
        try await takeSnapshots(connection)
        try await forgetKeptEvents(connection)
        for day in try await overdue(retentionDays, connection) {
            round.waitsFor = try await readers(of: day, connection)
            guard round.waitsFor.isEmpty else {
                logger.warning(
                    "old days are kept for consumers that have not read them",
                    metadata: ["day": "\(day.name)", "consumers": "\(round.waitsFor.joined(separator: ","))"])
                break
            }
            try await drop(day, connection)
            round.dropped.append(day.name)
            logger.info("a day was dropped", metadata: ["day": "\(day.name)"])
        }
        return round
    }
}
