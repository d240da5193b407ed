import Contracts
import Crypto
import Hummingbird
import NIOCore
import ServiceKit

/// A body of a request that counts as a whole only, as it was written to storage.
struct ReceivedBody: Sendable {
    var size: Int
    /// In hexadecimal.
    var sha256: String
}

extension Storage {
    /// Writes a request's body to a new file as it comes, and makes it durable. Unless all of it has come there is no file.
    ///
    /// - Parameters:
    ///   - limit: in bytes.
    ///   - onReceived: hears how many bytes have come, each time.
    /// - Throws: `body_cut`, `upload_too_large`, ``StorageError``.
    func receive(
        _ request: Request, as name: String, in folder: StorageFolder, limit: Int = .max,
        onReceived: (Int) -> Void
    ) async throws -> ReceivedBody {
        do {
            return try await write(request, to: try await create(name, in: folder), limit: limit, onReceived)
        } catch {
            try? await remove(name, from: folder)
            throw error
        }
    }

    private func write(
        _ request: Request, to file: any StoredFile, limit: Int, _ onReceived: (Int) -> Void
    ) async throws -> ReceivedBody {
        var hash = SHA256()
        var size = 0
        var pending = ByteBuffer()
        var writes = WriteBehind()
        var written = ContinuousClock.now
        var body = request.body.makeAsyncIterator()
        while let buffer = try await body.nextOfWhole() {
            onReceived(buffer.readableBytes)
            guard buffer.readableBytes <= limit - size - pending.readableBytes else { throw Problem.uploadTooLarge }
            hash.update(buffer)
            pending.writeImmutableBuffer(buffer)
            // However slowly it comes: a file to which nothing is written looks like a leftover to the sweep.
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
        // The framework takes the end of a connection for the end of the body.
        if let length = request.headers[.contentLength], Int(length) != size { throw Problem.bodyCut }
        try await file.sync()
        return ReceivedBody(size: size, sha256: hash.finalize().hexadecimal)
    }
}

extension RequestBody.AsyncIterator {
    /// The next bytes of a body that counts as a whole only.
    ///
    /// - Throws: `body_cut`, whatever ended the connection.
    fileprivate mutating func nextOfWhole() async throws(Problem) -> ByteBuffer? {
        do { return try await next() } catch { throw .bodyCut }
    }
}
