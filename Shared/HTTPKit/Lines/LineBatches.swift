public import Hummingbird
import HTTPTypes
import Machines
import NIOCore
import Records
import Runtime
import Synchronization

/// Answers batches: bodies in NDJSON with one document on each line, and one line of the answer for each.
///
/// A batch needs little memory: it is processed while it arrives, and only the lines of the answer are kept. A process
/// has a few batches at a time; more get `busy`.
public final class LineBatches: Sendable {
    /// The media type of NDJSON.
    public static let mediaType = "application/x-ndjson"
    /// The most lines of a batch.
    public static let limit = 10_000
    /// The most bytes of a batch that are processed at a time.
    private static let window = 1 << 20
    /// The most lines that are processed at a time.
    private static let width = 256

    private let most: Int
    private let count = Mutex(0)

    /// - Parameter most: the most batches at a time.
    public init(atOnce most: Int = 8) { self.most = most }

    /// Returns whether the body of a request is in NDJSON.
    public static func isBatch(_ request: Request) -> Bool {
        request.headers[.contentType]?.split(separator: ";").first?.trimmed().lowercased() == mediaType
    }

    /// Answers each line of a request.
    ///
    /// Lines about the same device are processed in their order, others at the same time. The answer has the order of
    /// the lines. A faulty line changes nothing, and does not affect the others.
    ///
    /// - Parameter handle: answers a line, by its document and its number.
    /// - Throws: `unsupported_media_type`, `busy`.
    public func answer<Line: DeviceLine>(
        _ call: Call, _ type: Line.Type, _ handle: @escaping @Sendable (Line, Int) async throws -> LineAnswer
    ) async throws -> Response {
        // A wrong key is one fault of the request, not of each line.
        _ = try call.request.idempotency(of: try call.context.requireCaller(), call.context)
        guard Self.isBatch(call.request) else {
            throw Problem.unsupportedMediaType.with(
                detail: "Send the body as \(Self.mediaType), a document on each line.")
        }
        try enter()
        defer { leave() }
        var batch = LineBatch(call, handle)
        var splitter = LineSplitter(limit: Request.documentLimit)
        do {
            for try await part in call.request.body {
                await batch.take(splitter.take(part.readableBytesView))
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The client is gone. The lines so far have their effect.
            throw Problem.malformedJSON.with(detail: "The connection ended before the body was complete.")
        }
        if let last = splitter.end() { await batch.take([last]) }
        await batch.process()
        return batch.results.response
    }

    /// Answers for each of some devices, which come in pages.
    ///
    /// - Parameters:
    ///   - page: returns the next devices; nil after the last ones.
    ///   - handle: answers for a device.
    /// - Throws: `busy`, or the error of `page`.
    public func answer(
        _ call: Call, devices page: () async throws -> [String]?,
        _ handle: @escaping @Sendable (String) async throws -> LineAnswer
    ) async throws -> Response {
        try enter()
        defer { leave() }
        var results = LineResults()
        while let devices = try await page() {
            for answer in await answers(call, for: devices, handle) { results.add(answer, line: nil) }
        }
        return results.response
    }

    /// Answers for each of some devices, with a most number of them at a time.
    ///
    /// - Returns: the answers, in the order of the devices.
    public func answers(
        _ call: Call, for devices: [String], _ handle: @escaping @Sendable (String) async throws -> LineAnswer
    ) async -> [LineAnswer] {
        var answers: [LineAnswer] = []
        for start in stride(from: 0, to: devices.count, by: Self.width) {
            let part = Array(devices[start..<min(start + Self.width, devices.count)])
            answers += await atOnce(part, call, { $0 }, handle)
        }
        return answers
    }

    private func enter() throws(Problem) {
        let isFree = count.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard isFree else { throw .busy.with(detail: "\(most) batches are in progress. Send the batch again later.") }
    }

    private func leave() { count.withLock { $0 -= 1 } }

    /// A batch whose lines arrive.
    private struct LineBatch<Line: DeviceLine> {
        let call: Call
        let handle: @Sendable (Line, Int) async throws -> LineAnswer
        var results = LineResults()
        private var waiting: [LineSplitter.Line] = []
        private var bytes = 0
        private var lines = 0

        init(_ call: Call, _ handle: @escaping @Sendable (Line, Int) async throws -> LineAnswer) {
            self.call = call
            self.handle = handle
        }

        mutating func take(_ more: [LineSplitter.Line]) async {
            for line in more {
                lines += 1
                // The rest is read, so that the client gets its answer.
                guard lines <= LineBatches.limit else {
                    if lines == LineBatches.limit + 1 {
                        await process()
                        results.add(LineAnswer(.tooManyLines, device: nil), line: line.number)
                    }
                    continue
                }
                waiting.append(line)
                bytes += line.bytes?.count ?? 0
                if waiting.count >= LineBatches.width || bytes >= LineBatches.window { await process() }
            }
        }

        /// Processes the lines that wait.
        mutating func process() async {
            let read = waiting.map { line in (line.number, Result { try Self.document(line) }) }
            (waiting, bytes) = ([], 0)
            let handle = handle
            let answers = await atOnce(read, call) {
                try? $0.1.get().device
            } _: { number, line in
                try await handle(try line.get(), number)
            }
            for (answer, line) in zip(answers, read) { results.add(answer, line: line.0) }
        }

        private static func document(_ line: LineSplitter.Line) throws -> Line {
            guard let bytes = line.bytes else {
                throw Problem.bodyTooLarge.with(detail: "A line may have at most \(Request.documentLimit) bytes.")
            }
            return try Line(received: bytes)
        }
    }
}

/// Handles all items at the same time, but those of one device in their order.
///
/// - Returns: the answers, in the order of the items.
private func atOnce<Item: Sendable>(
    _ items: [Item], _ call: Call, _ device: (Item) -> String?,
    _ handle: @escaping @Sendable (Item) async throws -> LineAnswer
) async -> [LineAnswer] {
    var lanes: [[(index: Int, item: Item, device: String?)]] = []
    var laneOfDevice: [String: Int] = [:]
    for (index, item) in items.enumerated() {
        let device = device(item)
        if let device, let lane = laneOfDevice[device] {
            lanes[lane].append((index, item, device))
        } else {
            if let device { laneOfDevice[device] = lanes.count }
            lanes.append([(index, item, device)])
        }
    }
    let answers = await withTaskGroup(of: [(Int, LineAnswer)].self) { group in
        for lane in lanes {
            group.addTask {
                var answers: [(Int, LineAnswer)] = []
                for (index, item, device) in lane {
                    do { answers.append((index, try await handle(item))) } catch {
                        answers.append(
                            (index, LineAnswer(Problem(of: error, call.request, call.context), device: device)))
                    }
                }
                return answers
            }
        }
        return await group.reduce(into: []) { $0 += $1 }
    }
    return answers.sorted { $0.0 < $1.0 }.map(\.1)
}

/// The lines of an answer.
private struct LineResults {
    private var bytes: [UInt8] = []
    private var succeeded = 0
    private var failed = 0
    private var positions: [Int: Int64] = [:]

    mutating func add(_ answer: LineAnswer, line: Int?) {
        bytes += answer.text(line: line)
        if answer.status.kind == .successful { succeeded += 1 } else { failed += 1 }
        guard let (partition, offset) = answer.position else { return }
        positions[partition] = max(positions[partition] ?? 0, Int64(offset))
    }

    /// The answer. Its last line has the numbers of successful and failed lines, so a client knows that it is complete.
    var response: Response {
        let totals: JSON = ["failed": .int(failed), "succeeded": .int(succeeded)]
        var headers: HTTPFields = [.contentType: LineBatches.mediaType]
        if !positions.isEmpty { headers[.position] = EncodedPosition(positions).description }
        let body = bytes + totals.bytes + [UInt8(ascii: "\n")]
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension Problem {
    fileprivate static let tooManyLines = bodyTooLarge.with(
        detail: "A batch may have at most \(LineBatches.limit) lines. Send this line and those after it in another one."
    )
}
