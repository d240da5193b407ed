import Contracts
import Foundation
import Logging
import Machines
import Records
import Runtime
import ServiceKit
import Timeline
import TransferMachine

/// Carries out one attempt: sends the request, keeps the bytes that come, and reports what is durably there.
struct AttemptRunner: Sendable {
    let key: AggregateKey
    let claim: AttemptClaim
    let commands: Commands<TransferMachine>
    let storage: any Storage
    let origins: AllowedOrigins
    let credentials: any CredentialSource
    let shapers: Shapers
    let counts: ByteCounts
    let logger: Logger

    /// Returns when the attempt is over, or is another's. Cancelled, it leaves the attempt as it stands.
    func run() async {
        do {
            try await shapers.share(key) { shaper in
                let order = try await shaper.learn(\.?.shape) { try await submit(.startAttempt(claim)) }
                if let order { try await move(order, shaper) }
            }
        } catch TransferRefusal.staleAttempt, TransferRefusal.unknownSession, TransferRefusal.unknownTask {
            // It was taken from us, or the device does without it.
        } catch TransferRefusal.deviceNotRegistered {
        } catch is CancellationError {
        } catch let error as StorageError {
            await giveUp(error)
        } catch {
            if Task.isCancelled { return }
            logger.warning("an attempt could not be carried out", metadata: ["error": "\(error)"])
        }
    }

    /// The bytes move in one task; another tells of them, so that they need not wait for the database.
    private func move(_ order: WorkOrder, _ shaper: Shaper) async throws {
        let (due, progress) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let exchange: AttemptExchange
        do { exchange = try await AttemptExchange(order, self, shaper) { progress.yield() } } catch StorageError.missing
        {
            return _ = try await submit(.fail(claim, total: order.task.bytesReceived, .fileMissing))
        }
        let end: [TransferCommand]
        do {
            end = try await withThrowingTaskGroup(of: [TransferCommand].self) { group in
                group.addTask {
                    defer { progress.finish() }
                    return try await exchange.carryOut()
                }
                group.addTask {
                    for await _ in due {
                        for command in try await exchange.progress() { try await submit(command) }
                    }
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        } catch let error as StorageError {
            // A disk says once that it has lost something: who comes to know it on the way ends the attempt.
            logger.error("bytes could not be made durable", metadata: ["error": "\(error)"])
            end = [.fail(claim, total: 0, AttemptEnd(error))]
        }
        for command in end {
            try await submit(command)
            if case .fail(_, _, .cannotWrite) = command { await discard(order) }
        }
    }

    /// The task is over; what others have no room for should not wait for the sweep.
    private func discard(_ order: WorkOrder) async {
        for piece in order.task.pieces + [order.task.storedPiece(Segment(epoch: claim.epoch, length: 0))] {
            try? await storage.remove(piece.name, from: .segments)
        }
    }

    /// Bytes can't be kept or read, whatever the attempt was at.
    private func giveUp(_ error: StorageError) async {
        logger.error("bytes could not be kept or read", metadata: ["error": "\(error)"])
        // Where not even that is heard, a later look at all attempts finds this one.
        _ = try? await submit(.fail(claim, total: 0, AttemptEnd(error)))
    }

    /// Submits until the database has answered.
    ///
    /// - Returns: the task after the command; nil where it is no more.
    @discardableResult
    func submit(_ command: TransferCommand) async throws -> WorkOrder? {
        while true {
            do {
                let body = try await commands.submit(command, to: key, origin: Origin(id: UUID.random())) {
                    aggregate, _ in
                    WorkOrder(aggregate.state, claim.place)?.binary ?? []
                }
                return body.isEmpty ? nil : WorkOrder(binary: body)
            } catch let error as RuntimeError {
                guard [.overloaded, .behind, .databaseUnavailable, .outcomeUnknown].contains(error) else { throw error }
                // All of a mover's commands may be repeated: a second one finds itself done, or stale.
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension AttemptEnd {
    /// What it means for an attempt that bytes can't be kept or read.
    init(_ error: StorageError) {
        // Others give back what there was none left of: later it goes on from what is there.
        self = error == .exhausted ? .connectionLost : .cannotWrite
    }
}
