import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import Synchronization
import TransferMachine

/// The bytes of apps' files, and of what tasks send and have received: pieces in storage, named by the machines' states.
struct AppFiles: Sendable {
    let storage: any Storage
    let uploads: UploadStore
    let counts: ByteCounts

    /// Takes a body in, as a file that nothing names yet.
    ///
    /// - Throws: `body_cut`, `upload_too_large`, ``StorageError``.
    func receive(_ request: Request) async throws -> AppFile {
        let name = UUID().lowercased
        let body = try await storage.receive(
            request, as: name, in: .segments, limit: uploads.limits.maxSize
        ) { [counts] in counts.received($0, by: .files) }
        var file = AppFile()
        file.pieces = [StoredPiece(name: name, length: body.size)]
        file.sha256 = body.sha256
        return file
    }

    /// Removes bytes that nothing came to name. What can't be removed the sweep finds.
    func discard(_ file: AppFile) async {
        for piece in file.pieces { try? await storage.remove(piece.name, from: .segments) }
    }

    /// Runs a command that makes a state name a file's bytes, and removes them if it never came to that: it was refused, or
    /// had been answered before.
    ///
    /// - Parameter command: says when a state names them; whether that lasts, the sweep will see.
    func keep(_ file: AppFile, _ command: (Naming) async throws -> Response) async throws -> Response {
        let naming = Naming()
        do {
            let response = try await command(naming)
            if !naming.isDone { await discard(file) }
            return response
        } catch {
            if !naming.isDone { await discard(file) }
            throw error
        }
    }

    /// What an upload task is to send: an app's file by its name, or what was uploaded by one of the protocols.
    ///
    /// - Throws: `not_found`, `upload_gone`, `upload_incomplete`, ``StorageError``.
    func source(_ file: String, for caller: Caller) async throws -> UploadSource {
        // The path of an upload, or its URL from `Location`.
        guard let slash = file.lastIndex(of: "/"),
            ["/files", "/uploads"].contains(where: { file[..<slash].hasSuffix($0) })
        else { return .file(file) }
        let upload = try await uploads.complete(String(file[file.index(after: slash)...]), for: caller)
        // The task's own names for the bytes: they stay when the upload goes.
        let id = UUID().lowercased
        var body = AppFile()
        do {
            for (index, segment) in upload.segments.enumerated() where segment.size > 0 {
                let name = "\(id).\(index)"
                try await storage.link(segment.file, from: .uploads, as: name, in: .segments)
                body.pieces.append(StoredPiece(name: name, length: segment.size))
            }
        } catch {
            await discard(body)
            throw error as? StorageError == .missing ? Problem.uploadGone : error
        }
        return .body(body)
    }

    /// Sends a file.
    ///
    /// - Parameter channel: that it is sent on.
    /// - Throws: `file_gone`.
    func answer(_ file: AppFile, on channel: any Channel) async throws -> Response {
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
            status: .ok, headers: headers,
            body: body(of: pieces, on: channel) { [counts] in counts.sent($0, by: .files) })
    }
}

/// Whether a state has come to name some bytes.
final class Naming: Sendable {
    private let flag = Atomic(false)

    var isDone: Bool { flag.load(ordering: .relaxed) }
    func done() { flag.store(true, ordering: .relaxed) }
}
