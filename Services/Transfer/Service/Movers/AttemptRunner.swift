import AsyncHTTPClient
import Contracts
import Crypto
import Foundation
import Logging
import Machines
import NIOCore
import NIOHTTP1
import OrderedCollections
import Records
import Runtime
import ServiceKit
import Timeline
import TransferMachine

/// What a mover needs to know to carry out an attempt.
struct WorkOrder: Record {
    var task = TransferTask()
    var configuration = SessionConfiguration()

    init() {}

    init?(_ state: TransferMachine, _ place: TaskPlace) {
        guard let task = state.task(place), let session = state.sessions[place.session] else { return nil }
        self.task = task
        configuration = session.configuration
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("task", &task)
        fields.field("configuration", &configuration)
    }
}

/// Carries out one attempt: fetches, keeps the bytes, and reports what is durably there.
struct AttemptRunner: Sendable {
    /// A report is made when so much has come and so much time has passed since the last, or when there is anything to report
    /// after the longest time.
    static let reportBytes = 1 << 20
    static let reportPause = Duration.milliseconds(250)
    static let longestSilence = Duration.seconds(5)

    let key: AggregateKey
    let claim: AttemptClaim
    let commands: Commands<TransferMachine>
    let storage: Storage
    let origins: AllowedOrigins
    let logger: Logger

    /// Returns when the attempt is over, or is another's. Cancelled, it leaves the attempt as it stands.
    func run() async {
        do {
            guard let order = try await submit(.startAttempt(claim)) else { return }
            try await move(order)
        } catch TransferRefusal.staleAttempt, TransferRefusal.unknownSession, TransferRefusal.unknownTask {
            // It was taken from us, or the device does without it.
        } catch TransferRefusal.deviceNotRegistered {
        } catch is CancellationError {
        } catch {
            if Task.isCancelled { return }
            logger.warning("an attempt could not be carried out", metadata: ["error": "\(error)"])
        }
    }

    private func move(_ order: WorkOrder) async throws {
        let sink = Sink(order: order, runner: self)
        do {
            do { try await sink.hashWhatIsThere() } catch StorageError.missing {
                // There is nothing to go on from: from the beginning, then.
                return _ = try await submit(.fail(claim, total: sink.durable, .resourceChanged))
            }
            let from = order.task.bytesReceived
            let fetch = Fetch(
                origins: origins, url: order.task.request.url, headers: order.headers(from: from),
                idleTimeout: .milliseconds(order.configuration.timeoutIntervalForRequest.milliseconds))
            try await fetch.run { response in
                let head = ResponseHead(response, askedForRange: from > 0)
                guard let order = try await submit(.receiveResponse(claim, head)),
                    let attempt = order.task.attempt, attempt.epoch == claim.epoch
                else { throw TransferRefusal.staleAttempt }
                try await sink.begin(at: attempt.from)
                // It says that there is nothing more; what it says it with is not the file's.
                if head.status != 416 || from == 0 {
                    do {
                        for try await buffer in response.body { try await sink.take(buffer) }
                    } catch let error as StorageError { throw error } catch let error as TransferRefusal {
                        throw error
                    } catch let error as RuntimeError { throw error } catch {
                        try Task.checkCancellation()
                        throw FetchFailure(network: error)
                    }
                }
                try await sink.flush()
            }
            _ = try await submit(.finish(claim, total: sink.durable, sha256: sink.sha256))
        } catch let failure as FetchFailure {
            try await sink.flush()
            _ = try await submit(.fail(claim, total: sink.durable, failure.end))
        } catch let error as StorageError {
            logger.error("bytes could not be kept", metadata: ["error": "\(error)"])
            _ = try await submit(.fail(claim, total: sink.durable, .cannotWrite))
            // The task is over; what others have no room for should not wait for the sweep.
            for piece in order.task.pieces + [order.task.storedPiece(Segment(epoch: claim.epoch, length: 0))] {
                try? await storage.remove(piece.name, from: .segments)
            }
        }
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
                guard error == .overloaded || error == .databaseUnavailable else { throw error }
                // All of a mover's commands may be repeated: a second one finds itself done, or stale.
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension WorkOrder {
    fileprivate func headers(from: Int) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (name, value) in configuration.httpAdditionalHeaders { headers.replaceOrAdd(name: name, value: value) }
        for (name, value) in task.request.headers { headers.replaceOrAdd(name: name, value: value) }
        // Ranges are of what is stored, so it must come as it is.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        if from > 0, let validator = ResumeRule.validator(task.response) {
            headers.replaceOrAdd(name: "Range", value: "bytes=\(from)-")
            headers.replaceOrAdd(name: "If-Range", value: validator)
        }
        return headers
    }
}

/// Where an attempt's bytes go: hashed as they pass, written in pieces of 256 KiB, told to the machine when they are durable.
///
/// Used by one task at a time; what it holds of the bytes is one piece.
private final class Sink {
    private(set) var durable: Int
    private let order: WorkOrder
    private let runner: AttemptRunner
    private var hash = SHA256()
    private var file: StoredFile?
    private var pending = ByteBuffer()
    /// How much of this attempt's segment is written.
    private var written = 0
    private var taken = 0
    private var lastReport = ContinuousClock.now

    init(order: WorkOrder, runner: AttemptRunner) {
        self.order = order
        self.runner = runner
        durable = order.task.bytesReceived
    }

    /// Of everything taken so far.
    var sha256: String { hash.finalize().hexadecimal }

    /// The hash begins with the bytes of former attempts.
    func hashWhatIsThere() async throws {
        for segment in order.task.segments where segment.length > 0 {
            let file = try await runner.storage.open(order.task.segmentName(segment), in: .segments)
            try await FilePiece(file: file, range: 0..<segment.length).forEachChunk { hash.update($0) }
        }
    }

    /// Gets ready for the bytes from an offset on: the end of what is there, or 0.
    func begin(at offset: Int) async throws {
        if offset == 0 { hash = SHA256() }
        durable = offset
        let segment = Segment(epoch: runner.claim.epoch, length: 0)
        file = try await runner.storage.create(order.task.segmentName(segment), in: .segments)
    }

    func take(_ buffer: ByteBuffer) async throws {
        hash.update(buffer)
        taken += buffer.readableBytes
        pending.writeImmutableBuffer(buffer)
        if pending.readableBytes >= FilePiece.chunk { try await write() }
        let silence = ContinuousClock.now - lastReport
        guard
            taken >= AttemptRunner.reportBytes && silence >= AttemptRunner.reportPause
                || silence >= AttemptRunner.longestSilence
        else { return }
        try await flush()
        try await runner.submit(.report(runner.claim, total: durable))
        lastReport = .now
        taken = 0
    }

    /// Makes durable what was taken.
    func flush() async throws {
        guard let file else { return }
        try await write()
        try await file.sync()
        durable += written - synced
        synced = written
    }

    private var synced = 0

    private func write() async throws {
        guard let file, pending.readableBytes > 0 else { return }
        try await file.write(pending, at: written)
        written += pending.readableBytes
        pending.clear()
    }
}

extension TransferTask {
    /// The file that holds what an attempt brought.
    func segmentName(_ segment: Segment) -> String { "\(file)-\(segment.epoch)" }
}
