import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import Synchronization
import TransferCore

/// The bytes of apps' files, of upload tasks and of downloads: pieces in storage that the states of devices refer to.
struct AppFiles: Sendable {
    let storage: any Storage
    let uploads: UploadStore
    let counts: ByteCounts

    /// Receives a body as a file that no state refers to yet.
    ///
    /// - Throws: `body_cut`, `upload_too_large`, `file_quota_exceeded`, `fleet_file_quota_exceeded`, ``StorageError``.
    func receive(_ request: Request, _ arrival: inout Arrival) async throws -> AppFile {
        let name = UUID().lowercased
        let body = try await storage.receive(
            request, as: name, in: .segments, limit: uploads.limits.maxSize
        ) { count in
            counts.received(count, by: .files)
            try arrival.take(count)
        }
        var file = AppFile()
        file.pieces = [StoredPiece(length: body.size, name: name)]
        file.sha256 = body.sha256
        return file
    }

    /// Returns a file without content, which modelled transfers can upload. Nothing can read it.
    static func modelled(length: Int) -> AppFile {
        AppFile(pieces: [StoredPiece(length: length, name: UUID().lowercased)])
    }

    /// Removes the bytes of an unreferenced file. If this fails, the sweep finds them.
    func discard(_ file: AppFile) async {
        for piece in file.pieces { try? await storage.remove(piece.name, from: .segments) }
    }

    /// Runs a command that makes a state refer to a file. Removes the file if the command is refused or repeated.
    ///
    /// - Parameter command: reports that a state refers to the file. If the commit fails, the sweep finds the file.
    func keep<Answer>(
        _ file: AppFile, _ naming: Naming = Naming(), _ command: (Naming) async throws -> Answer
    ) async throws -> Answer {
        do {
            let response = try await command(naming)
            if !naming.isDone { await discard(file) }
            return response
        } catch {
            if !naming.isDone { await discard(file) }
            throw error
        }
    }

    /// Returns the source of an upload task: an app's file by its name, or a complete upload.
    ///
    /// - Throws: `not_found`, `upload_gone`, `upload_incomplete`, ``StorageError``.
    func source(_ file: String, for caller: Caller) async throws -> UploadSource {
        // The path of an upload, or its URL from `Location`.
        guard let slash = file.lastIndex(of: "/"),
            ["/files", "/uploads"].contains(where: { file[..<slash].hasSuffix($0) })
        else { return .file(file) }
        let upload = try await uploads.complete(String(file[file.index(after: slash)...]), for: caller)
        // The task gets its own names for the bytes, so they stay when the upload is deleted.
        let id = UUID().lowercased
        var body = AppFile()
        do {
            for (index, segment) in upload.segments.enumerated() where segment.size > 0 {
                let name = "\(id).\(index)"
                try await storage.link(segment.file, from: .uploads, as: name, in: .segments)
                body.pieces.append(StoredPiece(length: segment.size, name: name))
            }
        } catch {
            await discard(body)
            throw error as? StorageError == .missing ? Problem.uploadGone : error
        }
        return .body(body)
    }

    /// Sends a file on the connection of a call.
    ///
    /// - Throws: `file_gone`.
    func answer(_ file: AppFile, to call: Call) async throws -> Response {
        var headers: HTTPFields = [
            .contentType: file.contentType ?? "application/octet-stream",
            // A browser must not run foreign content as content of this origin.
            .contentDisposition: "attachment",
        ]
        headers[.eTag] = file.sha256.map { "\"\($0.prefix(32))\"" }
        let bytes: ResponseBody
        do {
            var pieces: [BodyPiece] = []
            for piece in file.pieces where piece.length > 0 {
                let stored = try await storage.open(piece.name, in: .segments)
                pieces.append(.file(FilePiece(file: stored, range: 0..<piece.length)))
            }
            let isHead = call.request.method == .head
            bytes = try await body(of: pieces, isHead: isHead, on: call.context.channel) { [counts] in
                counts.sent($0, by: .files)
            }
        } catch StorageError.missing { throw Problem.fileGone }
        return Response(status: .ok, headers: headers, body: bytes)
    }
}

/// Whether a state refers to a new file.
final class Naming: Sendable {
    private let flag = Atomic(false)

    var isDone: Bool { flag.load(ordering: .relaxed) }
    func done() { flag.store(true, ordering: .relaxed) }
}
