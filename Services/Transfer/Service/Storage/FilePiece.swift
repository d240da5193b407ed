import NIOCore

/// A byte range of a file.
struct FilePiece: Sendable {
    /// The bytes of one read, and so the memory of one reader.
    static let chunk = 256 * 1024

    let file: any StoredFile
    let range: Range<Int>

    /// Reads the bytes in order and calls `body` for each chunk.
    ///
    /// - Parameters:
    ///   - body: takes a chunk.
    ///   - settle: runs after each chunk, in parallel with the read of the next one, which waits for its end.
    /// - Throws: `missing` if the file is shorter than the range.
    func forEachChunk(
        _ body: (ByteBuffer) async throws -> Void, settle: @escaping @Sendable () async throws -> Void = {}
    ) async throws {
        var chunk = try await chunk(at: range.lowerBound)
        var offset = range.lowerBound
        while chunk.readableBytes > 0 {
            offset += chunk.readableBytes
            try await body(chunk)
            async let settled: Void = settle()
            chunk = try await self.chunk(at: offset)
            try await settled
        }
    }

    /// Returns an empty buffer at the end of the range.
    private func chunk(at offset: Int) async throws -> ByteBuffer {
        guard offset < range.upperBound else { return ByteBuffer() }
        let buffer = try await file.read(at: offset, count: min(Self.chunk, range.upperBound - offset))
        guard buffer.readableBytes > 0 else { throw StorageError.missing }
        return buffer
    }
}
