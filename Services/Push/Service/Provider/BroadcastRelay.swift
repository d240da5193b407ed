import Contracts
import Crypto
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import PushCore
import Runtime
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry

/// Submits broadcasts to their devices: its own at once, those of lost processes when their leases expire.
///
/// A device takes each broadcast once: the idempotency key of the submission names both. So a process may stop and
/// another one may repeat the submission at any time.
final class BroadcastRelay: Service {
    /// The largest number of concurrent relays.
    private static let relayLimit = 8
    /// The largest number of concurrent submissions of a relay.
    static let deviceLimit = 32
    /// The number of devices between two records of progress.
    private static let page = 128
    private static let poll = Duration.milliseconds(500)

    /// The pause between two searches for undelivered broadcasts.
    private static let retryPause = Duration.seconds(5)

    let store: PushStore
    private let runtime: DurableRuntime<PushMachine>
    let metrics: Metrics
    let logger: Logger
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let underWay = Mutex(0)

    init(store: PushStore, runtime: DurableRuntime<PushMachine>, metrics: Metrics, logger: Logger) {
        self.store = store
        self.runtime = runtime
        self.metrics = metrics
        self.logger = logger
    }

    /// Starts a search for broadcasts now.
    func wake() { signal.continuation.yield() }

    /// Runs until graceful shutdown or cancellation. Other processes continue its relays.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        self.wake()
                        try? await Task.sleep(for: Self.poll)
                    }
                }
                group.addTask {
                    while !Task.isCancelled {
                        await self.retry()
                        try? await Task.sleep(for: Self.retryPause)
                    }
                }
                for await _ in self.signal.stream {
                    for relay in await self.claim() {
                        group.addTask {
                            await self.carryOut(relay)
                            self.underWay.withLock { $0 -= 1 }
                            // The next broadcast of the channel waits for this one.
                            self.wake()
                        }
                    }
                }
            }
        }
    }

    private func claim() async -> [PushStore.Relay] {
        let free = Self.relayLimit - underWay.withLock { $0 }
        guard free > 0 else { return [] }
        do {
            let relays = try await store.claim(limit: free)
            underWay.withLock { $0 += relays.count }
            return relays
        } catch {
            if !Task.isCancelled {
                logger.warning("failed to claim broadcasts, will retry", error: error)
            }
            return []
        }
    }

    private func carryOut(_ claimed: PushStore.Relay) async {
        var relay = claimed
        do {
            while true {
                let keys = try await store.candidates(relay, limit: Self.page)
                guard let last = keys.last else { break }
                let outcomes = try await submit(relay, to: keys)
                try await store.forget(outcomes.strangers, relay)
                try await store.keep(relay, for: outcomes.waiting)
                relay.after = last.description
                guard try await store.advance(relay) else { return }
            }
            try await store.finish(relay)
        } catch {
            if !Task.isCancelled {
                logger.warning(
                    "failed to relay broadcast, will retry",
                    error: error, metadata: [LogKey.broadcast: "\(relay.broadcast)"])
            }
            // If this fails, the lease expires.
            try? await store.release(relay)
        }
    }

    /// The outcome of a broadcast at one device.
    enum Outcome {
        case taken
        /// The device is not subscribed to the channel.
        case stranger
        /// The device can take no command now.
        case undelivered(String)
    }

    private typealias Outcomes = (strangers: [AggregateKey], waiting: [PushStore.Waiting])

    /// - Throws: a temporary error. The whole page is then submitted again.
    private func submit(_ relay: PushStore.Relay, to keys: [AggregateKey]) async throws -> Outcomes {
        // An older broadcast must not follow this one and replace it on the device.
        let behind = try await store.devicesBehind(relay, among: keys)
        let reason = "an older broadcast of the channel waits for the device"
        let queued = behind.map { PushStore.Waiting(key: $0, reason: reason, wasTried: false) }
        let free = keys.filter { !behind.contains($0) }
        return try await withThrowingTaskGroup(of: (AggregateKey, Outcome).self) { group in
            var rest = free[...]
            var outcomes: Outcomes = ([], queued)
            func start() {
                guard let key = rest.popFirst() else { return }
                group.addTask { (key, try await self.submit(relay, to: key)) }
            }
            for _ in 0..<Self.deviceLimit { start() }
            while let (key, outcome) = try await group.next() {
                switch outcome {
                case .taken: break
                case .stranger: outcomes.strangers.append(key)
                case .undelivered(let reason):
                    outcomes.waiting.append(.init(key: key, reason: reason, wasTried: true))
                    logger.error(
                        "failed to submit broadcast to device, will retry",
                        metadata: [
                            LogKey.error: "\(reason)", LogKey.device: "\(key)", LogKey.broadcast: "\(relay.broadcast)",
                        ])
                }
                start()
            }
            return outcomes
        }
    }

    /// - Throws: a temporary error.
    func submit(_ relay: PushStore.Relay, to key: AggregateKey) async throws -> Outcome {
        let name = "broadcast:\(relay.broadcast):\(key)"
        var origin = Origin(
            derivedID: DecisionIdentifiers.derived("push", name), traceparent: relay.requester.traceparent,
            actor: relay.requester.actor)
        // The timeline finds a broadcast by its `apns-request-id` as the correlation id.
        origin.correlation = UUID(uuidString: relay.message.requestID)
        let submission = Submission<PushMachine>(
            key: key, command: .receiveBroadcast(relay.message), origin: origin,
            idempotency: Idempotency(key: name, fingerprint: Array(SHA256.hash(data: Array(name.utf8))))
        ) { _, _ in [] }
        do {
            _ = try await runtime.submit(submission)
            return .taken
        } catch is PushRefusal {
            return .stranger
        } catch let error as RuntimeError {
            switch error {
            // newerState: a replica with a newer version of the program continues with the broadcast.
            case .overloaded, .behind, .stopping, .eventsLost, .databaseUnavailable, .outcomeUnknown, .newerState:
                throw error
            case .failed, .idempotencyConflict, .parked, .malformedState, .stateTooLarge:
                // A failing device must not keep the broadcast from the others.
                return .undelivered("\(error)")
            }
        }
    }
}
