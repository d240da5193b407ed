import AsyncHTTPClient
import NIOCore
import Synchronization

/// What a request sends: stretches of files, one behind the other. It can be sent again.
struct FileBody: Sendable {
    let pieces: [FilePiece]
    /// How many bytes of it were taken by the connection, in the present try.
    let meter: BodyMeter

    /// - Parameters:
    ///   - report: hears how much was sent, seldom enough to write it down. It must not wait.
    ///   - onSent: hears of each stretch how long it was. It must not wait.
    init(
        _ pieces: [FilePiece], report: @escaping @Sendable (_ sent: Int) -> Void = { _ in },
        onSent: @escaping @Sendable (_ count: Int) -> Void = { _ in }
    ) {
        self.pieces = pieces
        meter = BodyMeter(report, onSent)
    }

    /// In bytes.
    var length: Int { pieces.reduce(0) { $0 + $1.range.count } }

    /// The body of one try, from the beginning. It is read as the connection takes it, a chunk at a time.
    func stream(shaped shaper: Shaper?) -> HTTPClientRequest.Body {
        .stream(chunks(shaped: shaper), length: .known(Int64(length)))
    }

    /// The bytes of tries, each from the beginning.
    func chunks(shaped shaper: Shaper?) -> BodyChunks { BodyChunks(body: self, shaper: shaper) }
}

/// Counts what was sent in the newest try. One before it may still be at work, and counts no more.
final class BodyMeter: Sendable {
    private struct State {
        var tries = 0
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
    /// How often the body was begun.
    var tries: Int { state.withLock(\.tries) }

    /// - Returns: the number of the try that begins.
    fileprivate func restart() -> Int {
        state.withLock { state in
            state.tries += 1
            state.sent = 0
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

/// What a body's connection takes.
struct BodyChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    fileprivate let body: FileBody
    fileprivate let shaper: Shaper?

    func makeAsyncIterator() -> Iterator {
        Iterator(pieces: body.pieces[...], meter: body.meter, shaper: shaper)
    }

    struct Iterator: AsyncIteratorProtocol {
        private var pieces: ArraySlice<FilePiece>
        private let meter: BodyMeter
        /// Of this try.
        private let number: Int
        private let shaper: Shaper?
        private var offset = 0
        /// Handed out; asked for more, we know that the connection took it.
        private var given = 0
        private var rest = ByteBuffer()

        fileprivate init(pieces: ArraySlice<FilePiece>, meter: BodyMeter, shaper: Shaper?) {
            self.pieces = pieces
            self.meter = meter
            number = meter.restart()
            self.shaper = shaper
        }

        mutating func next() async throws -> ByteBuffer? {
            meter.add(given, in: number)
            given = 0
            if rest.readableBytes == 0 {
                guard let chunk = try await read() else {
                    meter.end(of: number)
                    return nil
                }
                rest = chunk
            }
            // Slow links take less at once, so that they carry steadily.
            given = Swift.min(rest.readableBytes, shaper?.portion(.up) ?? .max)
            let part = rest.readSlice(length: given)
            try await shaper?.pass(given, .up)
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
