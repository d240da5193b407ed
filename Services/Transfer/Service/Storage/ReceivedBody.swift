import Contracts
import Crypto
import HTTPKit
import Hummingbird
import NIOCore

/// A request body that is completely in storage.
struct ReceivedBody: Sendable {
    var size: Int
    /// In hexadecimal.
    var sha256: String
}

extension Storage {
    /// Writes a request's body to a new file while it arrives, and makes it durable. An incomplete body leaves no file.
    ///
    /// - Parameters:
    ///   - limit: in bytes.
    ///   - onReceived: gets the size of each received buffer. An error of it ends the reception.
    /// - Throws: `body_cut`, `upload_too_large`, ``StorageError``.
    func receive(
        _ request: Request, as name: String, in folder: StorageFolder, limit: Int = .max,
        onReceived: (Int) throws -> Void
    ) async throws -> ReceivedBody {
        do {
            return try await write(request, to: try await create(name, in: folder), limit: limit, onReceived)
        } catch {
            try? await remove(name, from: folder)
            throw error
        }
    }

    private func write(
        _ request: Request, to file: any StoredFile, limit: Int, _ onReceived: (Int) throws -> Void
    ) async throws -> ReceivedBody {
        var hash = SHA256()
        var size = 0
        var pending = ByteBuffer()
        var writes = WriteBehind()
        var written = ContinuousClock.now
        var body = request.body.makeAsyncIterator()
        while let buffer = try await body.nextOfWhole() {
            guard buffer.readableBytes <= limit - size - pending.readableBytes else { throw Problem.uploadTooLarge }
            try onReceived(buffer.readableBytes)
            hash.update(buffer)
            pending.writeImmutableBuffer(buffer)
            // Writes at least once a minute, because a sweep moves files without recent writes.
            let isDue = written.duration(to: .now) >= .seconds(60)
            guard pending.readableBytes >= FilePiece.chunk || isDue else { continue }
            try await writes.begin { [pending, size] in try await file.write(pending, at: size) }
            size += pending.readableBytes
            pending = ByteBuffer()
            written = .now
        }
        try await writes.begin { [pending, size] in try await file.write(pending, at: size) }
        try await writes.finish()
        size += pending.readableBytes
        // Hummingbird reports the end of a connection as the end of the body.
        if let length = request.headers[.contentLength], Int(length) != size { throw Problem.bodyCut }
        try await file.sync()
        return ReceivedBody(size: size, sha256: hash.finalize().hexadecimal)
    }
}

extension RequestBody.AsyncIterator {
    /// Returns the next bytes of a body.
    ///
    /// - Throws: `body_cut` for every failure of the connection.
    fileprivate mutating func nextOfWhole() async throws(Problem) -> ByteBuffer? {
        do { return try await next() } catch { throw .bodyCut }
    }
}
