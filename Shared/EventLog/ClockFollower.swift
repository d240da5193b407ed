public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// Keeps a process's ``SharedClock`` up to date, also while no batch reads the clock. It reads the clock's row after a
/// notification of a change, and every 500 ms in case a notification was lost.
public final class ClockFollower: Service {
    private let clock: SharedClock
    private let pool: ConnectionPool
    private let poll: Duration
    private let logger: Logger
    /// Whether the last log message said that the clocks differ.
    private let saysSkew = Atomic(false)
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    public init(
        _ clock: SharedClock, pool: ConnectionPool, updates: WakeUpReceiver, poll: Duration = .milliseconds(500),
        logger: Logger
    ) {
        self.clock = clock
        self.pool = pool
        self.poll = poll
        self.logger = logger
        let continuation = signal.continuation
        updates.follow { updates in
            switch updates {
            case .clock, .everything: continuation.yield()
            case .wakeUp, .settling: break
            }
        }
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in self.signal.stream { await self.read() }
                }
                group.addTask {
                    while (try? await Task.sleep(for: self.poll)) != nil { self.signal.continuation.yield() }
                }
                await group.waitForAll()
            }
        }
    }

    /// Logs once that the clocks differ, and once that they agree again.
    private func noteSkew() {
        let skew = clock.skew
        let differs = skew.magnitude > SharedClock.toleratedSkew
        guard saysSkew.exchange(differs, ordering: .relaxed) != differs else { return }
        let metadata: Logger.Metadata = [LogKey.seconds: "\(skew.seconds)"]
        if differs {
            logger.warning(
                "local clock differs from the database's, decisions use the database's clock", metadata: metadata)
        } else {
            logger.notice("local clock agrees with the database's again", metadata: metadata)
        }
    }

    private func read() async {
        do {
            let asked = ContinuousClock.now
            let row = try await pool.execute(SharedClock.read, rowsExpected: 1)[0]
            clock.take(try ClockSample(row, realAt: 4, asked: asked))
            noteSkew()
        } catch {
            // The next poll retries; until then time follows the last known setting.
            logger.debug("failed to read the clock, will retry", error: error)
        }
    }
}
