import Contracts
import EventLog
import Foundation
import LifecycleCore
import Logging
import Machines
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import Timeline

/// The open order streams of this process that others depend on, listed in the database.
///
/// While time is virtual, an advance of the clock waits for the devices of these streams. The client of a stream answers
/// for a built-in device: it takes the device over while its stream is listed.
final class ListedStreams: Service {
    private static let renewal = Duration.seconds(3)
    /// The time after the end of a poll in which the device may poll again.
    private static let pollGrace = Duration.seconds(2)
    private static let page = 500

    /// The id of this process, and the one under which it lists polls, which it does not renew.
    private let holder = UUID.random()
    private let polls = UUID.random()
    private let commands: Commands<LifecycleMachine>
    private let store: OrderStreamStore
    private let clock: SharedClock
    private let logger: Logger
    private let open = Mutex<[UUID: OrderStreamStore.Subject]>([:])
    private let ended = AsyncStream<(UUID, AggregateKey?)>.makeStream()

    init(commands: Commands<LifecycleMachine>, store: OrderStreamStore, clock: SharedClock, logger: Logger) {
        self.commands = commands
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// Whether an advance of the clock may wait for streams.
    var isTimeVirtual: Bool { clock.current.isVirtual }

    /// Lists a stream while the body runs, and takes over a built-in device.
    func hold(_ subject: OrderStreamStore.Subject, _ body: () async throws -> Void) async throws {
        let stream = UUID.random()
        open.withLock { $0[stream] = subject }
        defer {
            _ = open.withLock { $0.removeValue(forKey: stream) }
            // The task of a closed connection is cancelled, so it can't use the database.
            ended.continuation.yield((stream, subject.device))
        }
        try await list(stream, subject)
        try await body()
    }

    /// Lists a device that polls until the end of the poll and a grace period.
    func note(_ device: AggregateKey, pollsFor wait: Duration) async throws {
        guard isTimeVirtual else { return }
        let stream = DecisionIdentifiers.derived("orders.poll", device.description)
        try await store.add(stream, of: .device(device), holder: polls, lease: wait + Self.pollGrace)
    }

    /// Renews the rows of open streams. Removes those of closed streams and of lost processes, and gives their devices
    /// back. Runs until graceful shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask {
                    for await (stream, device) in self.ended.stream {
                        // The next renewal finds a row that was not removed.
                        await self.attempt { try await self.remove(stream, of: device) }
                    }
                }
                group.addTask {
                    while (try? await Task.sleep(for: Self.renewal)) != nil { await self.attempt(self.renew) }
                }
                await group.waitForAll()
            }
        }
    }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch {
            if Task.isCancelled { return }
            logger.warning("failed to list order streams, will retry", error: error)
        }
    }

    private func renew() async throws {
        let listed = try await store.renew(holder)
        let open = open.withLock { $0 }
        let missing = open.keys.filter { stream in !listed.contains { $0.stream == stream } }
        for stream in missing { if let subject = open[stream] { try await list(stream, subject) } }
        let closed = listed.filter { open[$0.stream] == nil }
        for (stream, device) in closed + (try await store.expired(limit: Self.page)) {
            try await remove(stream, of: device)
        }
    }

    private func list(_ stream: UUID, _ subject: OrderStreamStore.Subject) async throws {
        try await store.add(stream, of: subject, holder: holder)
        guard let device = subject.device else { return }
        try await submit(.takeOver(client: stream.lowercased), to: device)
    }

    /// Gives the device back, if the stream has taken it over, and removes the row.
    private func remove(_ stream: UUID, of device: AggregateKey?) async throws {
        if let device { try await submit(.giveBack(client: stream.lowercased), to: device) }
        try await store.remove(stream)
    }

    private func submit(_ command: LifecycleCommand, to device: AggregateKey) async throws {
        do { try await commands.submit(command, to: device, origin: Origin(id: UUID.random())) } catch LifecycleRefusal
            .deviceNotRegistered
        {
            // A deregistered device has no client.
        }
    }
}

extension OrderStreamStore.Subject {
    fileprivate var device: AggregateKey? { if case .device(let key) = self { key } else { nil } }
}
