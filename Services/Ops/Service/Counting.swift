import EventLog
import Foundation
import Logging
import Postgres
import ServiceKit
import ServiceLifecycle

/// Takes new events into the counts, soon after they are appended.
///
/// However many processes run it, each event counts once: a batch counts in the transaction that moves on from it, and a
/// partition that another process is at is left to it.
struct Counting: Service {
    /// So many events are taken in by one transaction.
    static let batch: Int32 = 2000
    /// News that come within this time are seen together.
    private static let pause = Duration.milliseconds(200)
    /// Without news.
    private static let interval = Duration.seconds(5)

    let pool: ConnectionPool
    let news: HintReceiver
    let metrics: Metrics
    let logger: Logger

    private static let behind = Statement(
        """
        SELECT r.partition::int8, p.head - r.log_offset FROM bus.readers AS r JOIN bus.partitions AS p USING (partition)
        WHERE r.reader = 'ops' AND p.head > r.log_offset ORDER BY r.partition
        """)
    private static let takeInNext = Statement("SELECT ops.take_in($1, $2)")
    private static let forget = Statement("SELECT ops.forget_days()")

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        news.follow { news in
            if news != .clock { signal.continuation.yield() }
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
            // The pool says so.
        } catch { logger.warning("events could not be counted", metadata: ["error": "\(error)"]) }
    }

    /// Takes in everything that is in the log, and forgets the counts of days that it has no more.
    func catchUp() async throws {
        try await takeIn()
        // A little at a time: a day of a large log has millions.
        while try await pool.run(Call(Self.forget, rowsExpected: 1))[0].int(0) > 0 {
            try Task.checkCancellation()
            try await takeIn()
        }
    }

    private func takeIn() async throws {
        while true {
            let rows = try await pool.run(Call(Self.behind))
            let behind = try rows.map { row in (partition: try row.int(0), events: try row.int(1)) }
            metrics.set(.eventsUncounted, to: Double(behind.reduce(0) { $0 + $1.events }))
            var taken = 0
            for (partition, _) in behind {
                try Task.checkCancellation()
                let call = Call(Self.takeInNext, [.int4(Int32(partition)), .int4(Self.batch)], rowsExpected: 1)
                taken += try await pool.run(call)[0].int(0)
            }
            // None at all: it is all in, or others are at what is left.
            guard taken > 0 else { return }
        }
    }
}
