public import Logging
public import Postgres
public import ServiceLifecycle
import Telemetry

/// Erases the histories of devices, as `lifecycle.device.erased` requests it. Several processes may run it.
///
/// It needs the role of the schema's owner: no service can change an event.
public final class LogErasure: Service {
    private let pool: ConnectionPool
    private let interval: Duration
    private let logger: Logger

    private static let pending = Statement(
        """
        SELECT partition::int8, key, log_offset FROM bus.erasures WHERE erased_at IS NULL
        ORDER BY requested_at, partition, key
        """)
    private static let erase = Statement("SELECT bus.erase($1, $2, $3, $4)")

    /// - Parameters:
    ///   - pool: with the role of the schema's owner.
    ///   - interval: the pause between two rounds.
    public init(pool: ConnectionPool, interval: Duration = .seconds(5), logger: Logger) {
        self.pool = pool
        self.interval = interval
        self.logger = logger
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var streak = FailureStreak()
            while true {
                var pause = self.interval
                do throws(PostgresError) {
                    try await self.round()
                    streak.end()
                } catch {
                    pause = streak.fail(within: self.interval)
                    self.logger.log(
                        level: streak.level, "failed to erase histories, will retry", error: error,
                        metadata: [LogKey.failures: "\(streak.count)"])
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Erases what services keep beside the log, or the part in the log.
    ///
    /// - Returns: what it waits for; nil if it is erased.
    private func erase(
        _ partition: Int, _ key: String, upTo offset: Int, ofServices: Bool
    ) async throws(PostgresError) -> String? {
        let parameters: [Parameter] = [.partition(partition), .text(key), .int(offset), .bool(ofServices)]
        return try await pool.execute(Query(Self.erase, parameters))[0].decode(String?.self)
    }

    /// Erases all histories whose events all consumers have read, one at a time. The others wait for the next round.
    public func round() async throws(PostgresError) {
        for (partition, key, offset) in try await pool.execute(Self.pending).decode((Int, String, Int).self) {
            var waits = try await erase(partition, key, upTo: offset, ofServices: true)
            if waits == nil { waits = try await erase(partition, key, upTo: offset, ofServices: false) }
            if let waits {
                logger.debug(
                    "an erasure waits", metadata: [LogKey.aggregate: "\(key)", LogKey.waitsFor: "\(waits)"])
            } else {
                logger.info("erased the history of a device", metadata: [LogKey.aggregate: "\(key)"])
            }
        }
    }
}
