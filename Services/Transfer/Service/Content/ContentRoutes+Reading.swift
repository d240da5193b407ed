import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit
import Timeline

extension ContentRoutes {
    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let (content, file) = try await find(try ContentPath(target: request.uri.path).text)
        let now = clock.now
        let answer = ContentAnswer(
            Conditions(request.headers), on: .init(content), size: content.size, isHead: request.method == .head,
            now: now)
        var headers: HTTPFields = [.acceptRanges: "bytes", .eTag: content.etag]
        // A date that is yet to come tells nobody anything (RFC 9110 section 8.8.2.1).
        if content.modifiedAt <= now { headers[.lastModified] = HTTPDate.text(content.modifiedAt) }
        let whole = [BodyPiece.file(FilePiece(file: file, range: 0..<content.size))]
        switch answer {
        case .preconditionFailed: throw Problem.contentChanged
        case .notModified: return Response(status: .notModified, headers: headers)
        case .unsatisfiable: throw Problem.rangeNotSatisfiable(size: content.size)
        case .whole:
            headers[.contentType] = content.contentType
            let digest = DigestAlgorithm(wanted: request.headers[.wantContentDigest])
            headers[.contentDigest] = digest?.field(of: content)
            return respond(.ok, headers, whole, request, content)
        case .ranges(let ranges):
            let pieces: [BodyPiece]
            if ranges.count == 1 {
                pieces = [.file(FilePiece(file: file, range: ranges[0]))]
                headers[.contentType] = content.contentType
                headers[.contentRange] = MultipartRanges.contentRange(ranges[0], content.size)
            } else {
                let parts = MultipartRanges(ranges, of: content, file, boundary: UUID().lowercased)
                pieces = parts.pieces
                headers[.contentType] = parts.contentType
            }
            let digest = DigestAlgorithm(wanted: request.headers[.wantContentDigest])
            headers[.contentDigest] = try await digest?.field(of: pieces)
            return respond(.partialContent, headers, pieces, request, content)
        }
    }

    /// With the digest of the whole file, whatever part of it is sent.
    private func respond(
        _ status: HTTPResponse.Status, _ headers: HTTPFields, _ pieces: [BodyPiece], _ request: Request,
        _ content: StoredContent
    ) -> Response {
        var headers = headers
        headers[.reprDigest] = DigestAlgorithm(wanted: request.headers[.wantReprDigest])?.field(of: content)
        return Response(status: status, headers: headers, body: body(of: pieces))
    }

    /// The content and its open file. A file that is replaced between the two is looked up once more.
    ///
    /// - Throws: `not_found`; `StorageError.missing` where the file is lost.
    private func find(_ path: String) async throws -> (StoredContent, StoredFile) {
        var lost: String?
        while true {
            guard let content = try await table.find(path) else { throw Problem.notFound }
            do { return (content, try await storage.open(content.file, in: .contents)) } catch StorageError.missing
                where content.file != lost
            { lost = content.file }
        }
    }
}
