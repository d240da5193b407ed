import Contracts
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import TransferMachine

/// The bytes of apps' files, and of what tasks send and have received: pieces in storage, named by the machines' states.
struct AppFiles: Sendable {
    let storage: any Storage
    let uploads: UploadStore
    let counts: ByteCounts

    /// Writes a body as it comes, and makes it durable.
    ///
    /// - Throws: `body_cut`, `upload_too_large`, ``StorageError``.
    func receive(_ request: Request) async throws -> AppFile {
        let name = UUID().lowercased
        do {
            let stored = try await storage.create(name, in: .segments)
            var hash = SHA256()
            var size = 0
            var pending = ByteBuffer()
            var body = request.body.makeAsyncIterator()
            while let buffer = try await body.nextOfWhole() {
                counts.received(buffer.readableBytes, by: .files)
                buffer.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
                pending.writeImmutableBuffer(buffer)
                guard size + pending.readableBytes <= uploads.limits.maxSize else { throw Problem.uploadTooLarge }
                guard pending.readableBytes >= FilePiece.chunk else { continue }
                try await stored.write(pending, at: size)
                size += pending.readableBytes
                pending.clear()
            }
            try await stored.write(pending, at: size)
            size += pending.readableBytes
            // The framework takes the end of a connection for the end of the body.
            if let length = request.headers[.contentLength], Int(length) != size { throw Problem.bodyCut }
            try await stored.sync()
            var file = AppFile()
            file.pieces = [StoredPiece(name: name, length: size)]
            file.sha256 = hash.finalize().hexadecimal
            return file
        } catch {
            try? await storage.remove(name, from: .segments)
            throw error
        }
    }

    /// What an upload task is to send: an app's file by its name, or what was uploaded by one of the protocols.
    ///
    /// - Throws: `not_found`, `upload_gone`, `upload_incomplete`.
    func source(_ file: String, for caller: Caller) async throws -> UploadSource {
        guard let prefix = ["/files/", "/uploads/"].first(where: { file.hasPrefix($0) }) else { return .file(file) }
        let upload = try await uploads.complete(String(file.dropFirst(prefix.count)), for: caller)
        // The task's own names for the bytes: they stay when the upload goes.
        let id = UUID().lowercased
        var body = AppFile()
        do {
            for (index, segment) in upload.segments.enumerated() where segment.size > 0 {
                let name = "\(id).\(index)"
                try await storage.link(segment.file, from: .uploads, as: name, in: .segments)
                body.pieces.append(StoredPiece(name: name, length: segment.size))
            }
        } catch StorageError.missing { throw Problem.uploadGone }
        return .body(body)
    }

    /// Sends a file.
    ///
    /// - Throws: `file_gone`.
    func answer(_ file: AppFile) async throws -> Response {
        var pieces: [BodyPiece] = []
        do {
            for piece in file.pieces where piece.length > 0 {
                let stored = try await storage.open(piece.name, in: .segments)
                pieces.append(.file(FilePiece(file: stored, range: 0..<piece.length)))
            }
        } catch StorageError.missing { throw Problem.fileGone }
        var headers: HTTPFields = [
            .contentType: file.contentType ?? "application/octet-stream",
            // Whatever came from elsewhere must not run in a browser in our name.
            .contentDisposition: "attachment",
        ]
        headers[.eTag] = file.sha256.map { "\"\($0.prefix(32))\"" }
        return Response(
            status: .ok, headers: headers, body: body(of: pieces) { [counts] in counts.sent($0, by: .files) })
    }
}
