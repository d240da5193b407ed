public import EventLog
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization
import Timeline

/// Keeps the revoked tokens in memory up to date: it reads the tables of revocations, then the log.
///
/// In the service that issues the tokens it also writes the table, so that a revocation outlives the log's retention.
public final class RevocationFollower: Service {
    /// The shortest time between two reads.
    private static let pause = Duration.milliseconds(100)
    /// The longest time between two reads. It limits the delay after a lost wake-up.
    private static let poll = Duration.seconds(2)
    /// The interval at which the table gets the read positions, if there are no revocations.
    private static let keeping = Duration.seconds(30)
    /// The interval between two removals of revocations that are older than any valid token.
    private static let forgetting = Duration.seconds(3600)

    private let tokens: RevokedTokens
    private let log: RevocationLog
    private let pool: ConnectionPool
    private let partitions: Int
    private let storesRevocations: Bool
    private let logger: Logger
    private let positions = Mutex<[Int: Int]>([:])
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - tokens: the revoked tokens to update.
    ///   - partitions: the number of partitions of the log.
    ///   - updates: receives the wake-ups for new events.
    ///   - storesRevocations: whether it writes the table. The role needs the right to do so.
    public init(
        _ tokens: RevokedTokens, pool: ConnectionPool, partitions: Int, updates: WakeUpReceiver,
        storesRevocations: Bool, logger: Logger
    ) {
        self.tokens = tokens
        log = RevocationLog(pool: pool)
        self.pool = pool
        self.partitions = partitions
        self.storesRevocations = storesRevocations
        self.logger = logger
        updates.follow { [signal] update in if Self.isOfInterest(update) { signal.continuation.yield() } }
    }

    /// Whether there may be new revocations.
    private static func isOfInterest(_ update: WakeUpReceiver.LogUpdate) -> Bool {
        switch update {
        case .everything: true
        case .wakeUp(let wakeUp): wakeUp.types.map { !$0.isDisjoint(with: RevocationLog.types) } ?? true
        case .clock, .settling: false
        }
    }

    /// Reads all revocations up to the head of the log. The service must not serve requests before this returns.
    public func catchUp() async throws {
        try await forgetOld()
        let kept = try await log.kept()
        take(kept)
        positions.withLock { $0 = kept.positions }
        try await readFleets()
        while !(try await step(savesPositions: false)) {}
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.follow() }
                group.addTask {
                    while (try? await Task.sleep(for: Self.poll)) != nil {
                        self.signal.continuation.yield()
                        do { try await self.readFleets() } catch {
                            self.logger.warning("failed to read revocations of fleets, will retry", error: error)
                        }
                    }
                }
                group.addTask {
                    while (try? await Task.sleep(for: Self.forgetting)) != nil {
                        do { try await self.forgetOld() } catch {
                            self.logger.warning("failed to delete old revocations, will retry", error: error)
                        }
                    }
                }
                await group.waitForAll()
            }
        }
    }

    /// Deletes revocations that are older than any valid token, in memory and, if this service writes it, in the table.
    ///
    /// - Parameter now: real time.
    func forgetOld(now: Instant = RealClock().now) async throws(PostgresError) {
        let days = TokenIssuer.longestLifetime + 1
        tokens.forget(before: now - .days(Int64(days)))
        if storesRevocations { try await log.forget(olderThanDays: days) }
    }

    private func follow() async {
        var saved = ContinuousClock.now
        for await _ in signal.stream {
            do {
                let isDue = ContinuousClock.now - saved >= Self.keeping
                while !(try await step(savesPositions: isDue)) {}
                if isDue { saved = .now }
            } catch {
                // The retry begins at the same positions.
                logger.warning("failed to read revocations, will retry", error: error)
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: whether the log was read to its head.
    private func step(savesPositions: Bool) async throws(PostgresError) -> Bool {
        let start = positions.withLock { $0 }
        let (found, isAtHead) = try await log.read(after: start)
        take(found)
        if storesRevocations, !found.devices.isEmpty || savesPositions {
            try await log.keep(found, partitions: partitions)
        }
        positions.withLock { $0 = found.positions }
        return isAtHead
    }

    /// Reads the fleets with revoked tokens. There are few, and they have no events.
    private func readFleets() async throws(PostgresError) {
        for (fleet, generations) in try await FleetRevocations.all(pool) {
            tokens.note(fleet: fleet, before: generations.current, former: generations.former)
        }
    }

    private func take(_ found: Revocations) {
        let now = RealClock().now
        for (device, place) in found.devices { tokens.note(device, before: place, at: found.times[device] ?? now) }
    }
}
