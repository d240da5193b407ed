import AsyncHTTPClient
import Contracts
import Logging
import NIOCore
import NIOHTTP1
import OrderedCollections
import Timeline
import TransferCore

/// The request and response of one attempt.
struct AttemptExchange: Sendable {
    let order: AttemptAssignment
    let runner: AttemptRunner
    private let answers: AppAnswers
    let body: FileBody?
    private let shaper: Shaper
    private let written = Written()
    private let onProgress: @Sendable () -> Void

    /// - Parameter onProgress: called when a progress report is due.
    /// - Throws: ``StorageError/missing`` if a file to send is missing.
    init(
        _ order: AttemptAssignment, _ runner: AttemptRunner, _ shaper: Shaper,
        onProgress: @escaping @Sendable () -> Void
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
                onSent: { [counts = runner.counts] in counts.sent($0, by: .workers) })
        } else {
            body = nil
        }
    }

    /// Makes the received bytes durable and returns the progress report.
    func progress() async throws -> [TransferCommand] {
        if let body, body.meter.sent > 0 { return [.reportSent(runner.claim, total: body.meter.sent)] }
        return try await written.sync().map { [.report(runner.claim, total: $0)] } ?? []
    }

    /// Sends the request and stores the response.
    ///
    /// - Returns: the commands that end the attempt.
    /// - Throws: errors that do not end the attempt: cancellation, refusals of the machine.
    func carryOut() async throws -> [TransferCommand] {
        let claim = runner.claim
        let reception = ResponseReceiver(
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
            runner.logger.error("failed to store or read bytes, attempt ends", error: error)
            end = .fail(claim, total: 0, AttemptEnd(error))
        }
        var commands = [end]
        if case .challenge = end { commands.insert(.report(claim, total: durable), at: 0) }
        if let sent = body?.meter.sent, sent > 0 { commands.insert(.reportSent(claim, total: sent), at: 0) }
        return commands
    }

    /// - Returns: whether the bytes have the digest that the server sent; true if it sent none.
    private func transfer(to reception: ResponseReceiver) async throws -> Bool {
        do { if order.offset > 0 { try await reception.hashWhatIsThere() } } catch StorageError.missing {
            // The stored bytes are lost, so the next attempt starts from the beginning.
            throw FetchFailure(.resourceChanged)
        }
        var request = order.request
        request.body = body
        let runner = runner
        if let id = order.task.request.secretHeaders {
            // Without its headers the request would be another one: the task was cancelled, or they are lost.
            guard let secret = try await runner.credentials.headers(id, of: runner.key) else {
                throw FetchFailure(.authenticationRequired)
            }
            for (name, value) in secret.values { request.headers.replaceOrAdd(name: name, value: value) }
        }
        guard let version = order.task.attempt?.uploadDraft else { return try await run(fetch(request), to: reception) }
        let client = UploadClient(version: version)
        guard let upload = order.task.upload else { return try await create(request, client, to: reception) }
        return try await resume(upload, request, client, to: reception)
    }

    /// Returns a fetch of this attempt.
    func fetch(_ request: FetchRequest) -> HTTPFetch {
        HTTPFetch(
            origins: runner.origins, request: request,
            idleTimeout: .milliseconds(order.configuration.timeoutIntervalForRequest.milliseconds), shaper: shaper,
            decide: answers.decide,
            onRedirect: { redirect in try await current(.followRedirect(runner.claim, redirect)) },
            refusedRedirect: order.task.refusesRedirect ? order.task.allowedRedirects : nil)
    }

    /// Runs a fetch, reports its informational responses, and stores its response.
    ///
    /// - Parameter check: throws a ``FetchFailure`` for a response that is not the result.
    /// - Returns: whether the bytes have the digest that the server sent; true if it sent none.
    func run(
        _ fetch: HTTPFetch, to reception: ResponseReceiver, check: (HTTPClientResponse) throws -> Void = { _ in }
    ) async throws -> Bool {
        let (responses, response) = AsyncStream<InformationalResponse>.makeStream(
            bufferingPolicy: .bufferingOldest(InformationalResponse.most))
        var fetch = fetch
        fetch.onInterim = { [onInterim = fetch.onInterim] interim, url in
            onInterim?(interim, url)
            if let found = InformationalResponse(interim) { response.yield(found) }
        }
        return try await withThrowingTaskGroup(of: Void.self) { [fetch, runner] group in
            group.addTask {
                for await found in responses.prefix(InformationalResponse.most) {
                    try await runner.submit(.receiveInformational(runner.claim, found))
                }
            }
            let outcome: Result<Bool, any Error>
            do {
                outcome = .success(
                    try await receive(fetch, to: reception) { head in
                        // The delegate gets informational responses before the final one.
                        response.finish()
                        try await group.waitForAll()
                        try check(head)
                    })
            } catch { outcome = .failure(error) }
            response.finish()
            try await group.waitForAll()
            return try outcome.get()
        }
    }

    /// Runs a fetch and stores its response.
    ///
    /// - Parameter prepare: called with the head of the last response before its report.
    private func receive(
        _ fetch: HTTPFetch, to reception: ResponseReceiver, prepare: (HTTPClientResponse) async throws -> Void
    ) async throws -> Bool {
        var digest: ReprDigest?
        try await fetch.run { response in
            try await prepare(response)
            try await accept(response, reception)
            // 416 means that no bytes are left. Its body is not part of the file.
            if response.status == .rangeNotSatisfiable, order.offset > 0 { return }
            digest = ReprDigest(response.headers)
            var iterator = response.body.makeAsyncIterator()
            while let buffer = try await Self.next(&iterator) {
                runner.counts.received(buffer.readableBytes, by: .workers)
                guard runner.quotas.take(buffer.readableBytes, of: order.fleet) else {
                    runner.meter.refused(by: .fleetFiles)
                    throw FetchFailure(.cannotWrite)
                }
                try requireSize(buffer.readableBytes, after: reception.taken)
                try await shaper.pass(buffer.readableBytes, .down)
                try await reception.take(buffer)
            }
        }
        guard let digest else { return true }
        _ = try await reception.flush()
        return try await reception.keeps(digest)
    }

    /// Reports the head of the result, and begins to receive its body.
    func accept(_ response: HTTPClientResponse, _ reception: ResponseReceiver) async throws {
        let head = ResponseHead(response, askedForRange: order.offset > 0)
        let current = try await current(.receiveResponse(runner.claim, head))
        let size = response.headers.first(name: "Content-Length").flatMap { Int($0) }
        // Not one byte of it is stored.
        try requireSize(size ?? 0, after: current.offset)
        try await reception.begin(at: current.offset)
    }

    /// Refuses a download that is larger than the storage allows.
    ///
    /// - Throws: ``StorageError/full``.
    private func requireSize(_ bytes: Int, after offset: Int) throws {
        guard bytes <= runner.storage.largestDownload - offset else {
            runner.meter.refused(by: .downloadSize)
            throw StorageError.full
        }
    }

    /// Submits a command, and returns the attempt after it.
    ///
    /// - Throws: `stale_attempt` if the command has ended the attempt; ``FetchFailure`` if its device has no room.
    @discardableResult
    func current(_ command: TransferCommand) async throws -> AttemptAssignment {
        let current = try await runner.submit(command)
        if let current, current.couldNotWrite(runner.claim) {
            runner.meter.refused(by: .deviceFiles)
            throw FetchFailure(.cannotWrite)
        }
        guard let current, current.task.attempt?.epoch == runner.claim.epoch else {
            throw TransferRefusal.staleAttempt
        }
        return current
    }

    private static func next(_ iterator: inout HTTPClientResponse.Body.AsyncIterator) async throws -> ByteBuffer? {
        do { return try await iterator.next() } catch {
            try Task.checkCancellation()
            throw FetchFailure(network: error)
        }
    }
}
