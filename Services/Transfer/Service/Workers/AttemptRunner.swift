import Contracts
import Foundation
import Logging
import Machines
import Records
import Runtime
import ServiceKit
import Timeline
import TransferCore

/// Runs one attempt: sends the request, stores the received bytes and reports durable progress.
struct AttemptRunner: Sendable {
    let key: AggregateKey
    let claim: AttemptClaim
    let commands: Commands<TransferMachine>
    let storage: any Storage
    let origins: AllowedOrigins
    let credentials: any CredentialSource
    let shapers: Shapers
    let counts: ByteCounts
    let quotas: FileQuotas
    let meter: QuotaMeter
    let logger: Logger

    /// Returns when the attempt is over or belongs to another worker. Cancellation does not end the attempt.
    func run() async {
        do {
            try await shapers.share(key) { shaper in
                let order = try await shaper.learn(\.?.shape) { try await submit(.startAttempt(claim)) }
                if let order { try await move(order, shaper) }
            }
        } catch let refusal as TransferRefusal where refusal == .staleAttempt || refusal.reason.kind == .notFound {
            // Another worker has the attempt, or its task or its device is gone.
        } catch is CancellationError {
        } catch let error as StorageError {
            await giveUp(error)
        } catch {
            if Task.isCancelled { return }
            logger.warning("failed to run an attempt, a scan will retry", error: error)
        }
    }

    /// Moves the bytes in one task and reports progress in another, so that transfers do not wait for the database.
    private func move(_ order: AttemptAssignment, _ shaper: Shaper) async throws {
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
                        for command in try await exchange.progress() { try await exchange.current(command) }
                    }
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        } catch let error as StorageError {
            // The system reports lost writes only once, so this error ends the attempt.
            logger.error("failed to make bytes durable, attempt ends", error: error)
            end = [.fail(claim, total: 0, AttemptEnd(error))]
        } catch let failure as FetchFailure {
            end = [.fail(claim, total: 0, failure.end)]
        }
        for command in end {
            let next = try await submit(command)
            if next?.couldNotWrite(claim) == true { return await discard(order) }
        }
    }

    /// Removes the file of the attempt that failed, because storage may be full. The files of earlier attempts go to the
    /// trash: a backup may name them.
    private func discard(_ order: AttemptAssignment) async {
        let own = order.task.storedPiece(Segment(epoch: claim.epoch, length: 0)).name
        try? await storage.remove(own, from: .segments)
        for piece in order.task.pieces where piece.name != own {
            try? await storage.discard(piece.name, from: .segments)
        }
    }

    /// Ends the attempt after a storage error.
    private func giveUp(_ error: StorageError) async {
        logger.error("failed to store or read bytes, attempt ends", error: error)
        // If this fails too, a later scan finds the attempt.
        _ = try? await submit(.fail(claim, total: 0, AttemptEnd(error)))
    }

    /// Submits a command, and retries until the database answers.
    ///
    /// - Returns: the task after the command; nil if it is gone.
    @discardableResult
    func submit(_ command: TransferCommand) async throws -> AttemptAssignment? {
        while true {
            do {
                let body = try await commands.submit(command, to: key, origin: Origin(id: UUID.random())) {
                    aggregate, _ in
                    AttemptAssignment(aggregate.state, claim.taskKey)?.binary ?? []
                }
                return body.isEmpty ? nil : AttemptAssignment(binary: body)
            } catch let error as RuntimeError {
                guard [.overloaded, .behind, .databaseUnavailable, .outcomeUnknown].contains(error) else { throw error }
                // All commands of a worker are idempotent: a repetition has no effect or is stale.
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension AttemptEnd {
    /// The end of an attempt after a storage error.
    init(_ error: StorageError) {
        // Exhausted resources become free again, so a later attempt can resume.
        self = error == .exhausted ? .connectionLost : .cannotWrite
    }
}
