import Contracts
import EventLog
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// The open order streams of this process, listed in the database for an advance of the clock.
///
/// A stream is listed only while time is virtual: nothing else waits for devices.
final class ListedStreams: Service {
    private static let renewal = Duration.seconds(3)
    /// The time after the end of a poll in which the device may poll again.
    private static let pollGrace = Duration.seconds(2)
    private static let page = 500

    /// The id of this process, and the one under which it lists polls, which it does not renew.
    private let holder = UUID.random()
    private let polls = UUID.random()
    private let store: OrderStreamStore
    private let clock: SharedClock
    private let logger: Logger
    private let open = Mutex<[UUID: OrderStreamStore.Subject]>([:])
    private let ended = AsyncStream<UUID>.makeStream()

    init(store: OrderStreamStore, clock: SharedClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Whether streams are listed now.
    var isNeeded: Bool { clock.current.isVirtual }

    /// Lists a stream while the body runs.
    func hold(_ subject: OrderStreamStore.Subject, _ body: () async throws -> Void) async throws {
        let stream = UUID.random()
        try await store.add(stream, of: subject, holder: holder)
        open.withLock { $0[stream] = subject }
        defer {
            _ = open.withLock { $0.removeValue(forKey: stream) }
            // The task of a closed connection is cancelled, so it can't use the database.
            ended.continuation.yield(stream)
        }
        try await body()
    }

    /// Lists a device that polls until the end of the poll and a grace period.
    func note(_ device: AggregateKey, pollsFor wait: Duration) async throws {
        guard isNeeded else { return }
        let stream = DecisionIdentifiers.derived("orders.poll", device.description)
        try await store.add(stream, of: .device(device), holder: polls, lease: wait + Self.pollGrace)
    }

    /// Renews the rows of open streams and removes those of closed ones and of lost processes, until graceful shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask {
                    // A failed removal is repeated by the next renewal.
                    for await stream in self.ended.stream { try? await self.store.remove(stream) }
                }
                group.addTask {
                    while (try? await Task.sleep(for: Self.renewal)) != nil { await self.renew() }
                }
                await group.waitForAll()
            }
        }
    }

    private func renew() async {
        guard isNeeded else { return }
        do {
            let listed = try await store.renew(holder)
            let open = open.withLock { $0 }
            for (stream, subject) in open where !listed.contains(stream) {
                try await store.add(stream, of: subject, holder: holder)
            }
            for stream in listed where open[stream] == nil { try await store.remove(stream) }
            _ = try await store.removeExpired(limit: Self.page)
        } catch {
            if Task.isCancelled { return }
            logger.warning("failed to list order streams, will retry", error: error)
        }
    }
}
