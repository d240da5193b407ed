import AsyncHTTPClient
import Contracts
import NIOCore
import Synchronization

/// A request body of concatenated parts of files. It can be sent again.
struct FileBody: Sendable {
    let pieces: [FilePiece]
    /// The number of bytes that the connection has taken in the current try.
    let meter: BodyMeter

    /// - Parameters:
    ///   - report: gets the number of sent bytes at the rate of ``Pace``. It must not block.
    ///   - onSent: gets the size of each sent part. It must not block.
    init(
        _ pieces: [FilePiece], report: @escaping @Sendable (_ sent: Int) -> Void = { _ in },
        onSent: @escaping @Sendable (_ count: Int) -> Void = { _ in }
    ) {
        self.pieces = pieces
        meter = BodyMeter(report, onSent)
    }

    private init(_ pieces: [FilePiece], _ meter: BodyMeter) {
        self.pieces = pieces
        self.meter = meter
    }

    /// Returns the rest of the body after a number of bytes. The meter counts these bytes as sent.
    func rest(after offset: Int) -> FileBody {
        var left = offset
        let rest = pieces.map { piece in
            let skipped = min(left, piece.range.count)
            left -= skipped
            return FilePiece(file: piece.file, range: piece.range.lowerBound + skipped..<piece.range.upperBound)
        }
        meter.begin(at: offset)
        return FileBody(rest, meter)
    }

    /// In bytes.
    var length: Int { pieces.reduce(0) { $0 + $1.range.count } }

    /// Returns the body of one try, from the beginning. The connection reads it a chunk at a time.
    func stream(shaped shaper: Shaper?, _ flow: BodyFlow) -> HTTPClientRequest.Body {
        .stream(chunks(shaped: shaper, flow), length: .known(Int64(length)))
    }

    /// Returns the bytes of tries, each from the beginning.
    ///
    /// - Parameter flow: what the connection of the only try says; nil for tries that do not wait for a connection.
    func chunks(shaped shaper: Shaper?, _ flow: BodyFlow? = nil) -> BodyChunks {
        BodyChunks(body: self, shaper: shaper, flow: flow)
    }
}

/// Counts the bytes that the newest try has sent. A former try may still run, but does not count.
final class BodyMeter: Sendable {
    private struct State {
        var tries = 0
        /// The bytes before the first one of each try.
        var base = 0
        var sent = 0
        var pace = Pace()
    }

    private let state = Mutex(State())
    private let report: @Sendable (Int) -> Void
    private let onSent: @Sendable (Int) -> Void

    init(_ report: @escaping @Sendable (Int) -> Void, _ onSent: @escaping @Sendable (Int) -> Void) {
        self.report = report
        self.onSent = onSent
    }

    var sent: Int { state.withLock(\.sent) }
    /// The number of tries so far.
    var tries: Int { state.withLock(\.tries) }

    fileprivate func begin(at base: Int) { state.withLock { ($0.base, $0.sent) = (base, base) } }

    /// - Returns: the number of the new try.
    fileprivate func restart() -> Int {
        state.withLock { state in
            state.tries += 1
            state.sent = state.base
            return state.tries
        }
    }

    fileprivate func add(_ count: Int, in number: Int) {
        onSent(count)
        let due: Int? = state.withLock { state in
            guard state.tries == number else { return nil }
            state.sent += count
            return state.pace.isDue(count) ? state.sent : nil
        }
        if let due { report(due) }
    }

    fileprivate func end(of number: Int) {
        let sent = state.withLock { $0.tries == number ? $0.sent : nil }
        if let sent { report(sent) }
    }
}

/// The bytes of a body in chunks.
struct BodyChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    fileprivate let body: FileBody
    fileprivate let shaper: Shaper?
    fileprivate let flow: BodyFlow?

    func makeAsyncIterator() -> Iterator { Iterator(body, shaper, flow) }

    struct Iterator: AsyncIteratorProtocol {
        private var pieces: ArraySlice<FilePiece>
        private let meter: BodyMeter
        /// The number of this try.
        private let number: Int
        private let shaper: Shaper?
        private let flow: BodyFlow?
        private var offset = 0
        /// The number of bytes of the body that are not given yet.
        private var left: Int
        /// The size of the last chunk. The call for the next one shows that the connection has taken it.
        private var given = 0
        private var rest = ByteBuffer()

        fileprivate init(_ body: FileBody, _ shaper: Shaper?, _ flow: BodyFlow?) {
            pieces = body.pieces[...]
            left = body.length
            meter = body.meter
            number = meter.restart()
            self.shaper = shaper
            self.flow = flow
        }

        mutating func next() async throws -> ByteBuffer? {
            switch await flow?.room() ?? .open {
            case .open: break
            case .answered: return Filler.take(from: &left)
            case .closed(isComplete: true): return nil
            case .closed(isComplete: false): throw FetchFailure(.connectionLost)
            }
            meter.add(given, in: number)
            given = 0
            if rest.readableBytes == 0 {
                guard let chunk = try await read() else {
                    meter.end(of: number)
                    return nil
                }
                rest = chunk
            }
            // Slow links get smaller chunks, so that their rate is steady.
            given = Swift.min(rest.readableBytes, shaper?.portion(.up) ?? .max)
            let part = rest.readSlice(length: given)
            try await shaper?.pass(given, .up)
            left -= given
            flow?.add(given)
            return part
        }

        private mutating func read() async throws -> ByteBuffer? {
            while let piece = pieces.first {
                let start = piece.range.lowerBound + offset
                if start < piece.range.upperBound {
                    let count = Swift.min(FilePiece.chunk, piece.range.upperBound - start)
                    let buffer = try await piece.file.read(at: start, count: count)
                    guard buffer.readableBytes > 0 else { throw StorageError.missing }
                    offset += buffer.readableBytes
                    return buffer
                }
                pieces.removeFirst()
                offset = 0
            }
            return nil
        }
    }
}

/// Bytes that a connection drops. The HTTP client waits for as many bytes as the head of the request has promised.
private enum Filler {
    private static let bytes = ByteBuffer(repeating: 0, count: 1 << 20)

    /// Returns the next filler of a body; nil at its end.
    static func take(from left: inout Int) -> ByteBuffer? {
        guard left > 0 else { return nil }
        let part = bytes.getSlice(at: 0, length: min(left, bytes.readableBytes))
        left -= part?.readableBytes ?? left
        return part
    }
}
