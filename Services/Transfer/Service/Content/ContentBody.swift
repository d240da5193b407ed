import HTTPKit
import Hummingbird
import NIOCore

/// A part of a response body.
enum BodyPiece: Sendable {
    case text(String)
    case file(FilePiece)

    var length: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .file(let piece): piece.range.count
        }
    }

    /// Calls `body` for each chunk in order. At most ``FilePiece/chunk`` bytes wait in memory.
    func forEachChunk(
        _ body: (ByteBuffer) async throws -> Void, settle: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        switch self {
        case .text(let text): try await body(ByteBuffer(string: text))
        case .file(let piece): try await piece.forEachChunk(body, settle: settle)
        }
    }
}

/// Returns a response body. A short one is read now, so that its answer needs no task of its own. A long one is read
/// while it is sent.
///
/// - Parameters:
///   - isHead: whether nobody reads the body.
///   - channel: the connection. Each chunk reaches its event loop before the next one, because the event loop applies
///     back-pressure and may be late with it.
///   - onSent: gets the size of each sent chunk.
/// - Throws: ``StorageError``, `missing` if a file is shorter than its piece.
func body(
    of pieces: [BodyPiece], isHead: Bool = false, on channel: any Channel, onSent: @escaping @Sendable (Int) -> Void
) async throws -> ResponseBody {
    let length = pieces.reduce(0) { $0 + $1.length }
    if length <= Response.longestShort, !isHead {
        var bytes = ByteBuffer()
        for piece in pieces { try await piece.forEachChunk { bytes.writeImmutableBuffer($0) } }
        onSent(length)
        return ResponseBody(byteBuffer: bytes)
    }
    return ResponseBody(contentLength: length) { writer in
        for piece in pieces {
            try await piece.forEachChunk {
                try await writer.write($0)
                onSent($0.readableBytes)
            } settle: {
                try await channel.eventLoop.submit {}.get()
            }
        }
        try await writer.finish(nil)
    }
}

/// Several ranges as `multipart/byteranges` (RFC 9110 section 14.6).
struct MultipartRanges {
    let boundary: String
    let pieces: [BodyPiece]

    /// - Parameter boundary: a random text that the file does not contain.
    init(_ ranges: [Range<Int>], of whole: [FilePiece], _ contentType: String, boundary: String) {
        let size = whole.reduce(0) { $0 + $1.range.count }
        var pieces: [BodyPiece] = []
        for range in ranges {
            let head =
                "\(pieces.isEmpty ? "" : "\r\n")--\(boundary)\r\nContent-Type: \(contentType)\r\n"
                + "Content-Range: \(Self.contentRange(range, size))\r\n\r\n"
            pieces += [.text(head)] + whole[bytes: range].map { .file($0) }
        }
        self.boundary = boundary
        self.pieces = pieces + [.text("\r\n--\(boundary)--\r\n")]
    }

    var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// Returns a `Content-Range` (section 14.4).
    static func contentRange(_ range: Range<Int>, _ size: Int) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }
}
