import AsyncHTTPClient
import Contracts
import Logging
import NIOCore
import Timeline
import TransferMachine

/// What one attempt sends and gets.
struct AttemptExchange: Sendable {
    private let order: WorkOrder
    private let runner: AttemptRunner
    private let answers: AppAnswers
    private let body: FileBody?
    private let shaper: Shaper
    private let written = Written()
    private let onProgress: @Sendable () -> Void

    /// - Parameter onProgress: called when there is enough to tell of.
    /// - Throws: ``StorageError/missing`` where a file that is to be sent is not there.
    init(
        _ order: WorkOrder, _ runner: AttemptRunner, _ shaper: Shaper, onProgress: @escaping @Sendable () -> Void
    ) async throws {
        self.order = order
        self.runner = runner
        self.shaper = shaper
        self.onProgress = onProgress
        answers = AppAnswers(order: order, device: runner.key, source: runner.credentials)
        if let file = order.task.body {
            var pieces: [FilePiece] = []
            for piece in file.pieces {
                let stored = try await runner.storage.open(piece.name, in: .segments)
                pieces.append(FilePiece(file: stored, range: 0..<piece.length.heldToBytes))
            }
            body = FileBody(
                pieces, report: { _ in onProgress() },
                onSent: { [counts = runner.counts] in counts.sent($0, by: .movers) })
        } else {
            body = nil
        }
    }

    /// What there is to tell meanwhile. Makes durable what it tells of.
    func progress() async throws -> [TransferCommand] {
        if let body, body.meter.sent > 0 { return [.reportSent(runner.claim, total: body.meter.sent)] }
        return try await written.sync().map { [.report(runner.claim, total: $0)] } ?? []
    }

    /// Sends the request and keeps what comes.
    ///
    /// - Returns: what there is to tell at the end.
    /// - Throws: what has nothing to do with this attempt's end: cancellation, the machine's refusals.
    func carryOut() async throws -> [TransferCommand] {
        let claim = runner.claim
        let reception = Reception(
            order.task, epoch: claim.epoch, storage: runner.storage, written: written, onProgress: onProgress)
        var end: TransferCommand
        var durable = order.task.bytesReceived
        do {
            do {
                let isWhole = try await transfer(to: reception)
                durable = try await reception.flush() ?? durable
                end =
                    isWhole
                    ? .finish(claim, total: durable, sha256: reception.sha256)
                    : .fail(claim, total: durable, .digestMismatch)
            } catch let failure as FetchFailure {
                durable = try await reception.flush() ?? durable
                end =
                    failure.challenge.map { .challenge(claim, answers.counted($0)) }
                    ?? .fail(claim, total: durable, failure.end)
            }
        } catch let error as StorageError {
            runner.logger.error("bytes could not be kept or read", metadata: ["error": "\(error)"])
            end = .fail(claim, total: 0, AttemptEnd(error))
        }
        var commands = [end]
        if case .challenge = end { commands.insert(.report(claim, total: durable), at: 0) }
        if let sent = body?.meter.sent, sent > 0 { commands.insert(.reportSent(claim, total: sent), at: 0) }
        return commands
    }

    /// - Returns: whether the bytes are those that the server promised, where it did.
    private func transfer(to reception: Reception) async throws -> Bool {
        do { if order.offset > 0 { try await reception.hashWhatIsThere() } } catch StorageError.missing {
            // There is nothing to go on from: from the beginning, then.
            throw FetchFailure(.resourceChanged)
        }
        var request = order.request
        request.body = body
        let runner = runner
        let fetch = Fetch(
            origins: runner.origins, request: request,
            idleTimeout: .milliseconds(order.configuration.timeoutIntervalForRequest.milliseconds), shaper: shaper,
            decide: answers.decide,
            onRedirect: { redirect in try await runner.submit(.followRedirect(runner.claim, redirect)) })
        var digest: ReprDigest?
        try await fetch.run { response in
            let head = ResponseHead(response, askedForRange: order.offset > 0)
            guard let order = try await runner.submit(.receiveResponse(runner.claim, head)),
                let attempt = order.task.attempt, attempt.epoch == runner.claim.epoch
            else { throw TransferRefusal.staleAttempt }
            try await reception.begin(at: attempt.from)
            // It says that there is nothing more; what it says it with is not the file's.
            if head.status == 416, self.order.offset > 0 { return }
            digest = ReprDigest(response.headers)
            var iterator = response.body.makeAsyncIterator()
            while let buffer = try await Self.next(&iterator) {
                runner.counts.received(buffer.readableBytes, by: .movers)
                try await shaper.pass(buffer.readableBytes, .down)
                try await reception.take(buffer)
            }
        }
        guard let digest else { return true }
        _ = try await reception.flush()
        return try await reception.keeps(digest)
    }

    private static func next(_ iterator: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
        do { return try await iterator.next() } catch {
            try Task.checkCancellation()
            throw FetchFailure(network: error)
        }
    }
}
