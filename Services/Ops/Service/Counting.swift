import EventLog
import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Telemetry

/// Adds new events to the counts soon after they are appended.
///
/// Several processes may run it. Each event counts once: one transaction counts a batch of all partitions and moves the
/// read positions. A process skips a partition that another process is counting.
struct Counting: Service {
    /// Wake-ups within this time start one pass. A pass costs about as much for one event as for hundreds.
    private static let pause = Duration.seconds(1)
    /// The time between passes that need no wake-up, and that also delete old counts.
    private static let interval = Duration.seconds(5)

    let store: OpsStore
    let updates: WakeUpReceiver
    let metrics: Metrics
    let logger: Logger

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        updates.follow { updates in
            if updates != .clock { signal.continuation.yield() }
        }
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    while (try? await Task.sleep(for: Self.interval)) != nil { await attempt(catchUp) }
                }
                group.addTask {
                    for await _ in signal.stream {
                        await attempt(countEvents)
                        guard (try? await Task.sleep(for: Self.pause)) != nil else { break }
                    }
                }
                await group.waitForAll()
            }
        }
    }

    private func attempt(_ pass: () async throws -> Void) async {
        do { try await pass() } catch is CancellationError {} catch let error as PostgresError
            where error.isConnectionProblem
        {
            // The pool logs it.
        } catch { logger.warning("failed to count events, will retry", error: error) }
    }

    /// Counts all events in the log, and deletes the counts of days that retention has dropped.
    func catchUp() async throws {
        try await countEvents()
        // In small steps: one day of a large log has millions of counts.
        while try await store.pruneCounts() > 0 { try Task.checkCancellation() }
    }

    private func countEvents() async throws {
        while true {
            let (counted, left) = try await store.countEvents()
            metrics.set(.eventsUncounted, to: Double(left))
            // Zero counted: other processes are counting the rest.
            guard counted > 0, left > 0 else { return }
            try Task.checkCancellation()
        }
    }
}
