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

    private let outbox: BroadcastOutbox
    private let runtime: DurableRuntime<PushMachine>
    private let logger: Logger
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let underWay = Mutex(0)

    init(pool: ConnectionPool, runtime: DurableRuntime<PushMachine>, logger: Logger) {
        outbox = BroadcastOutbox(pool: pool)
        self.runtime = runtime
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
                try await outbox.forget(try await submit(relay, to: keys), relay)
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

    /// - Returns: the devices that do not hear the channel.
    /// - Throws: what may pass: the whole page is then to be handed over again.
    private func submit(_ relay: BroadcastOutbox.Relay, to keys: [AggregateKey]) async throws -> [AggregateKey] {
        try await withThrowingTaskGroup(of: AggregateKey?.self) { group in
            var rest = keys[...]
            var strangers: [AggregateKey] = []
            func start() {
                guard let key = rest.popFirst() else { return }
                group.addTask { try await self.submit(relay, to: key) ? nil : key }
            }
            for _ in 0..<Self.deviceLimit { start() }
            while let stranger = try await group.next() {
                if let stranger { strangers.append(stranger) }
                start()
            }
            return strangers
        }
    }

    /// - Returns: whether the device hears the channel.
    private func submit(_ relay: BroadcastOutbox.Relay, to key: AggregateKey) async throws -> Bool {
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
            return true
        } catch is PushRefusal {
            return false
        } catch let error as RuntimeError {
            switch error {
            // A newer program has the device: one of its replicas goes on with the broadcast.
            case .overloaded, .behind, .stopping, .databaseUnavailable, .outcomeUnknown, .newerState: throw error
            case .failed, .idempotencyConflict, .parked, .malformedState, .stateTooLarge:
                // A device that can take nothing must not keep the broadcast from the others.
                logger.error(
                    "a device can't take a broadcast", metadata: [LogKey.error: "\(error)", LogKey.aggregate: "\(key)"])
                return true
            }
        }
    }
}
