public import EventLog
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization
import Timeline

/// Follows the log for revocations of tokens: first what the table keeps, then what is appended, moments after it is.
///
/// In the service that issues the tokens it also writes the table, so that a revocation outlives the log's retention.
public final class RevocationFollower: Service {
    /// From one look to the next, while there is news all the time.
    private static let pause = Duration.milliseconds(100)
    /// Bounds the cost of a lost hint.
    private static let poll = Duration.seconds(2)
    /// How often the table is told how far the log was read, where nothing was found.
    private static let keeping = Duration.seconds(30)

    /// The interval between two removals of revocations that are older than any valid token.
    private static let forgetting = Duration.seconds(3600)

    private let tokens: VoidTokens
    private let log: RevocationLog
    private let partitions: Int
    private let isKeeper: Bool
    private let logger: Logger
    private let positions = Mutex<[Int: Int]>([:])
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - tokens: what it tells.
    ///   - partitions: the log's number of partitions.
    ///   - isKeeper: whether it writes the table, for which the role needs the right.
    public init(
        _ tokens: VoidTokens, pool: ConnectionPool, partitions: Int, news: HintReceiver, isKeeper: Bool, logger: Logger
    ) {
        self.tokens = tokens
        log = RevocationLog(pool: pool)
        self.partitions = partitions
        self.isKeeper = isKeeper
        self.logger = logger
        news.follow { [signal] news in if news != .clock { signal.continuation.yield() } }
    }

    /// Takes in all that is known. To be awaited before the first request is served: until then void tokens open doors.
    public func catchUp() async throws {
        try await forgetOld()
        let kept = try await log.kept()
        take(kept)
        positions.withLock { $0 = kept.positions }
        while !(try await step(savesPositions: false)) {}
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.follow() }
                group.addTask {
                    while (try? await Task.sleep(for: Self.poll)) != nil { self.signal.continuation.yield() }
                }
                group.addTask {
                    while (try? await Task.sleep(for: Self.forgetting)) != nil {
                        do { try await self.forgetOld() } catch {
                            self.logger.warning(
                                "failed to delete old revocations, will retry", metadata: [LogKey.error: "\(error)"])
                        }
                    }
                }
                await group.waitForAll()
            }
        }
    }

    /// Forgets revocations that are older than any valid token, in memory and in the table if this service keeps it.
    ///
    /// - Parameter now: real time.
    func forgetOld(now: Instant = RealClock().now) async throws(PostgresError) {
        let days = TokenIssuer.lifetime.milliseconds / 86_400_000 + 1
        tokens.forget(before: now - .days(days))
        if isKeeper { try await log.forget(olderThanDays: Int(days)) }
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
                logger.warning("failed to read revocations, will retry", metadata: [LogKey.error: "\(error)"])
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// - Returns: whether the log was read to its head.
    private func step(savesPositions: Bool) async throws(PostgresError) -> Bool {
        let start = positions.withLock { $0 }
        let (found, isAtHead) = try await log.read(after: start)
        take(found)
        if isKeeper, !found.devices.isEmpty || savesPositions { try await log.keep(found, partitions: partitions) }
        positions.withLock { $0 = found.positions }
        return isAtHead
    }

    private func take(_ found: Revocations) {
        let now = RealClock().now
        for (device, place) in found.devices { tokens.note(device, before: place, at: found.times[device] ?? now) }
    }
}
