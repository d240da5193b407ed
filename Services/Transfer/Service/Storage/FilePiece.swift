import NIOCore

/// A stretch of a file.
struct FilePiece: Sendable {
    /// How much is read at once: what one reader takes of memory.
    static let chunk = 256 * 1024

    let file: any StoredFile
    let range: Range<Int>

    /// Hands the bytes over in order, as fast as they are taken.
    ///
    /// - Parameters:
    ///   - body: takes a chunk.
    ///   - settle: awaited after each chunk, before the next is handed over. That one is read meanwhile.
    /// - Throws: `missing` where the file is shorter than it should be.
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

    /// Nothing at the end of the stretch.
    private func chunk(at offset: Int) async throws -> ByteBuffer {
        guard offset < range.upperBound else { return ByteBuffer() }
        let buffer = try await file.read(at: offset, count: min(Self.chunk, range.upperBound - offset))
        guard buffer.readableBytes > 0 else { throw StorageError.missing }
        return buffer
    }
}
