public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// The upkeep of the log: it creates tables for the next days, takes snapshots of past days, and drops days that are
/// older than the retention. Several processes may run it; one at a time works.
///
/// It needs the role of the schema's owner. With the role of a service it can only create tables.
public final class LogMaintenance: Service {
    /// The fewest days ahead without a fault.
    public static let fewestDaysAhead = 2
    static let daysAhead = 7

    private let pool: ConnectionPool
    private let retentionDays: Int?
    private let auditDays: Int
    private let interval: Duration
    private let lastingFault = Mutex<String?>(nil)
    let logger: Logger

    /// The fault after repeated failures; nil while the upkeep succeeds.
    public var fault: String? { lastingFault.withLock { $0 } }

    /// - Parameters:
    ///   - pool: with the role of the schema's owner.
    ///   - retentionDays: the whole days before today to retain; nil only creates tables for the next days, for which
    ///     the role of a service is enough.
    ///   - auditDays: the days for which the rows of the audit trail are kept, if old days are dropped.
    ///   - interval: the pause between two rounds.
    public init(
        pool: ConnectionPool, retentionDays: Int? = 30, auditDays: Int = 90, interval: Duration = .seconds(600),
        logger: Logger
    ) {
        precondition(retentionDays ?? 1 > 0, "today's events can't be dropped")
        self.pool = pool
        self.retentionDays = retentionDays
        self.auditDays = auditDays
        self.interval = interval
        self.logger = logger
    }

    /// The result of one round.
    public struct Round: Sendable, Equatable {
        /// The tables that were dropped, oldest first.
        public var dropped: [String] = []
        /// The consumers that have not read the oldest day that is due to be dropped.
        public var waitsFor: [String] = []
    }

    /// Runs until graceful shutdown or cancellation: one round at once, and then one each interval.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var streak = FailureStreak()
            while true {
                var pause = self.interval
                do {
                    _ = try await self.round()
                    streak.end()
                    self.lastingFault.withLock { $0 = nil }
                } catch let error as PostgresError {
                    pause = streak.fail(within: self.interval)
                    self.tell(error, streak)
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    private func tell(_ error: PostgresError, _ streak: FailureStreak) {
        let consequence = "tables for the next days run out" + (retentionDays == nil ? "" : ", and old days stay")
        if streak.isLasting {
            lastingFault.withLock { $0 = "log upkeep keeps failing: \(consequence)" }
        }
        logger.log(
            level: streak.level,
            streak.isLasting ? "log upkeep keeps failing" : "log upkeep failed, will retry",
            error: error, metadata: [LogKey.failures: "\(streak.count)", LogKey.consequence: "\(consequence)"])
    }

    private static let lock = Statement("SELECT pg_try_advisory_lock(hashtext('dormouse.upkeep'), 0)")
    private static let unlock = Statement("SELECT pg_advisory_unlock(hashtext('dormouse.upkeep'), 0)")

    /// Runs one round.
    ///
    /// - Returns: nil if another process runs one.
    public func round() async throws -> Round? {
        try await pool.withConnection { connection in
            guard try await connection.execute(Self.lock)[0].decode(Bool.self) else { return nil }
            do {
                let round = try await upkeep(connection)
                try await connection.execute(Self.unlock)
                return round
            } catch {
                // Closing the session releases the lock.
                await connection.close()
                throw error
            }
        }
    }

    private func upkeep(_ connection: Connection) async throws -> Round {
        try await connection.execute(Self.ensureDays, .int4(Int32(Self.daysAhead)))
        var round = Round()
        guard let retentionDays else { return round }
        try await takeSnapshots(connection)
        try await forgetKeptEvents(connection)
        try await forgetAudit(olderThanDays: auditDays, connection)
        for day in try await overdue(retentionDays, connection) {
            round.waitsFor = try await readers(of: day, connection)
            guard round.waitsFor.isEmpty else {
                logger.warning(
                    "kept old days, consumers have not read them",
                    metadata: [LogKey.day: "\(day.name)", LogKey.consumers: "\(round.waitsFor.joined(separator: ","))"])
                break
            }
            try await drop(day, connection)
            round.dropped.append(day.name)
            logger.info("dropped day", metadata: [LogKey.day: "\(day.name)"])
        }
        return round
    }
}
