import Logging
import Postgres
import PushCore
import ServiceKit
import ServiceLifecycle
import Telemetry
import Timeline

/// Counts the statuses of notifications from the log, each event exactly once. Any number of processes may count at
/// once.
struct NotificationCounts: Service {
    let store: PushStore
    let metrics: Metrics
    let logger: Logger

    /// Counts until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Duration.zero
            while (try? await Task.sleep(for: pause)) != nil {
                do { pause = try await round() ? .milliseconds(50) : .seconds(1) } catch {
                    if Task.isCancelled { return }
                    logger.warning("failed to count notifications, will retry", error: error)
                    pause = .seconds(1)
                }
            }
        }
    }

    /// Counts the new events of each partition that no other process counts now.
    ///
    /// - Returns: whether there were any.
    func round() async throws(PostgresError) -> Bool {
        var counted = false
        for partition in try await store.partitionsToCount() {
            for (status, count) in try await store.count(in: partition) {
                metrics.add(Double(count), to: .notifications, ["status": status])
                counted = true
            }
        }
        return counted
    }
}

extension Metric {
    /// Each process reports the events that it counted. Their sum counts each event once.
    static let notifications = Metric(
        "dormouse_push_notifications_total", "Status changes of notifications, by status.",
        .counter)
}
