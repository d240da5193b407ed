import NIOCore

/// A stretch of a file.
struct FilePiece: Sendable {
    /// How much is read at once: what one reader takes of memory.
    static let chunk = 256 * 1024

    let file: any StoredFile
    let range: Range<Int>

    /// Hands the bytes over in order, as fast as they are taken.
    ///
    /// - Throws: `missing` where the file is shorter than it should be.
    func forEachChunk(_ body: (ByteBuffer) async throws -> Void) async throws {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let buffer = try await file.read(at: offset, count: min(Self.chunk, range.upperBound - offset))
            guard buffer.readableBytes > 0 else { throw StorageError.missing }
            try await body(buffer)
            offset += buffer.readableBytes
        }
    }
}
