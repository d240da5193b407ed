import EventLog
import Foundation
import Logging
import Postgres
import ServiceLifecycle
import Telemetry

/// Adds new events to the counts soon after they are appended.
///
/// Several processes may run it. Each event counts once: one transaction counts a batch and moves the read position.
/// A process skips a partition that another process is counting.
struct Counting: Service {
    /// Wake-ups within this time start one pass.
    private static let pause = Duration.milliseconds(200)
    /// The time between passes without a wake-up.
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
                    while (try? await Task.sleep(for: Self.interval)) != nil { signal.continuation.yield() }
                }
                group.addTask {
                    for await _ in signal.stream {
                        await attempt()
                        guard (try? await Task.sleep(for: Self.pause)) != nil else { break }
                    }
                }
                await group.waitForAll()
            }
        }
    }

    private func attempt() async {
        do { try await catchUp() } catch is CancellationError {} catch let error as PostgresError
            where error.isConnectionProblem
        {
            // The pool logs it.
        } catch { logger.warning("failed to count events, will retry", error: error) }
    }

    /// Counts all events in the log, and deletes the counts of days that retention has dropped.
    func catchUp() async throws {
        try await countEvents()
        // In small steps: one day of a large log has millions of counts.
        while try await store.pruneCounts() > 0 {
            try Task.checkCancellation()
            try await countEvents()
        }
    }

    private func countEvents() async throws {
        while true {
            let behind = try await store.uncounted()
            metrics.set(.eventsUncounted, to: Double(behind.reduce(0) { $0 + $1.events }))
            var taken = 0
            for (partition, _) in behind {
                try Task.checkCancellation()
                taken += try await store.countEvents(of: partition)
            }
            // Zero: all events are counted, or other processes are counting the rest.
            guard taken > 0 else { return }
        }
    }
}
