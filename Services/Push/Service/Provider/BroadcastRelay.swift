import Contracts
import Crypto
import EventLog
import Foundation
import Logging
import Machines
import Postgres
import PushMachine
import Runtime
import ServiceKit
import ServiceLifecycle
import Synchronization

/// Hands broadcasts to their devices, in each process: those of its own at once, those that others left over soon after.
///
/// A device takes each broadcast once, however often it is handed to it: the submission names the broadcast and the device, and
/// the runtime keeps that name with what it did. So it does not matter where a process ends between the two.
final class BroadcastRelay: Service {
    /// So many partitions' worth of broadcasts at a time.
    private static let relayLimit = 8
    /// So many devices of one relay at a time.
    private static let deviceLimit = 32
    /// So many devices between two notes of how far a relay has come.
    private static let page = 128
    private static let poll = Duration.milliseconds(500)

    /// What devices could not take is handed to them again: looked for so often.
    private static let retryPause = Duration.seconds(5)

    private let outbox: BroadcastOutbox
    private let runtime: DurableRuntime<PushMachine>
    private let metrics: Metrics
    private let logger: Logger
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let underWay = Mutex(0)

    init(pool: ConnectionPool, runtime: DurableRuntime<PushMachine>, metrics: Metrics, logger: Logger) {
        outbox = BroadcastOutbox(pool: pool)
        self.runtime = runtime
        self.metrics = metrics
        self.logger = logger
    }

    /// There is something new.
    func wake() { signal.continuation.yield() }

    /// Runs until graceful shutdown or cancellation. What is left over then others take on.
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

    private func claim() async -> [BroadcastOutbox.Relay] {
        let free = Self.relayLimit - underWay.withLock { $0 }
        guard free > 0 else { return [] }
        do {
            let relays = try await outbox.claim(limit: free)
            underWay.withLock { $0 += relays.count }
            return relays
        } catch {
            if !Task.isCancelled {
                logger.warning("broadcasts could not be looked for", metadata: [LogKey.error: "\(error)"])
            }
            return []
        }
    }

    private func carryOut(_ claimed: BroadcastOutbox.Relay) async {
        var relay = claimed
        do {
            while true {
                let keys = try await outbox.candidates(relay, limit: Self.page)
                guard let last = keys.last else { break }
                let outcomes = try await submit(relay, to: keys)
                try await outbox.forget(outcomes.strangers, relay)
                try await outbox.keep(relay, for: outcomes.undelivered)
                relay.after = last.description
                guard try await outbox.advance(relay) else { return }
            }
            try await outbox.finish(relay)
        } catch {
            if !Task.isCancelled {
                logger.warning(
                    "a broadcast waits", metadata: [LogKey.error: "\(error)", "broadcast": "\(relay.broadcast)"])
            }
            // Where this fails the lease runs out.
            try? await outbox.release(relay)
        }
    }

    /// What became of a broadcast at one device.
    private enum Outcome {
        case taken
        /// It does not hear the channel.
        case stranger
        /// It can't take anything now.
        case undelivered(String)
    }

    private typealias Outcomes = (strangers: [AggregateKey], undelivered: [(key: AggregateKey, reason: String)])

    /// - Throws: what may pass: the whole page is then to be handed over again.
    private func submit(_ relay: BroadcastOutbox.Relay, to keys: [AggregateKey]) async throws -> Outcomes {
        try await withThrowingTaskGroup(of: (AggregateKey, Outcome).self) { group in
            var rest = keys[...]
            var outcomes: Outcomes = ([], [])
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
                    outcomes.undelivered.append((key, reason))
                    logger.error(
                        "keep a broadcast for a device that can't take it",
                        metadata: [
                            LogKey.error: "\(reason)", "device": "\(key)", "broadcast": "\(relay.broadcast)",
                        ])
                }
                start()
            }
            return outcomes
        }
    }

    private func submit(_ relay: BroadcastOutbox.Relay, to key: AggregateKey) async throws -> Outcome {
        let name = "broadcast:\(relay.broadcast):\(key)"
        var origin = Origin(
            derivedID: DecisionIdentifiers.derived("push", name), traceparent: relay.traceparent)
        // By this the timeline finds it by its `apns-request-id`.
        origin.correlation = UUID(uuidString: relay.message.requestID) ?? origin.id
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
            // A newer program has the device: one of its replicas goes on with the broadcast.
            case .overloaded, .behind, .stopping, .databaseUnavailable, .outcomeUnknown, .newerState: throw error
            case .failed, .idempotencyConflict, .parked, .malformedState, .stateTooLarge:
                // A device that can take nothing must not keep the broadcast from the others.
                return .undelivered("\(error)")
            }
        }
    }

    /// Hands broadcasts over again to devices that could not take them.
    private func retry() async {
        do {
            while true {
                let due = try await outbox.claimUndelivered(limit: Self.deviceLimit)
                for device in due {
                    switch try await submit(device, to: AggregateKey(device.after)) {
                    case .taken, .stranger: try await outbox.settle(device)
                    case .undelivered(let reason): try await outbox.note(reason, device)
                    }
                }
                if due.isEmpty { break }
            }
            metrics.set(.broadcastsUndelivered, to: Double(try await outbox.undelivered()))
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("hand kept broadcasts over later", metadata: [LogKey.error: "\(error)"])
        }
    }
}

extension Metric {
    static let broadcastsUndelivered = Metric(
        "dormouse_push_broadcasts_undelivered",
        "Broadcasts that are kept for a device which can't take them, over all devices and replicas.", .gauge)
}
