import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import NIOCore
import Timeline

/// The representation of a resource (RFC 9110 section 3.2): concatenated parts of files, sent as a whole or in ranges.
struct Representation: Sendable {
    let pieces: [FilePiece]
    let contentType: String
    let validators: Preconditions.Validators
    /// Gets the size of each sent chunk.
    let onSent: @Sendable (Int) -> Void
    /// Returns the digest of the whole in the format of RFC 9530; nil if there is none.
    let digest: @Sendable (DigestAlgorithm) async throws -> String?

    private var size: Int { pieces.reduce(0) { $0 + $1.range.count } }

    /// Returns the answer to a GET or HEAD on a connection.
    ///
    /// - Throws: `precondition_failed`, `range_not_satisfiable`.
    func response(to request: Request, on channel: any Channel, now: Instant) async throws -> Response {
        let answer = ContentAnswer(
            Preconditions(request.headers), on: validators, size: size, isHead: request.method == .head, now: now)
        var headers: HTTPFields = [.acceptRanges: "bytes", .eTag: validators.etag]
        // An origin server must not send a date in the future (RFC 9110 section 8.8.2.1).
        if let date = validators.modifiedAt, date <= now { headers[.lastModified] = HTTPDate.text(date) }
        let wanted = DigestAlgorithm(wanted: request.headers[.wantContentDigest])
        switch answer {
        case .preconditionFailed: throw Problem.contentChanged
        case .notModified: return Response(status: .notModified, headers: headers)
        case .unsatisfiable: throw Problem.rangeNotSatisfiable(size: size)
        case .whole:
            headers[.contentType] = contentType
            if let wanted { headers[.contentDigest] = try await digest(wanted) }
            return try await respond(.ok, headers, pieces.map { .file($0) }, request, channel)
        case .ranges(let ranges):
            let parts: [BodyPiece]
            if ranges.count == 1 {
                parts = pieces[bytes: ranges[0]].map { .file($0) }
                headers[.contentType] = contentType
                headers[.contentRange] = MultipartRanges.contentRange(ranges[0], size)
            } else {
                let multipart = MultipartRanges(ranges, of: pieces, contentType, boundary: UUID().lowercased)
                parts = multipart.pieces
                headers[.contentType] = multipart.contentType
            }
            headers[.contentDigest] = try await wanted?.field(of: parts)
            return try await respond(.partialContent, headers, parts, request, channel)
        }
    }

    /// Adds `Repr-Digest`, the digest of the whole, to the answer.
    private func respond(
        _ status: HTTPResponse.Status, _ headers: HTTPFields, _ parts: [BodyPiece], _ request: Request,
        _ channel: any Channel
    ) async throws -> Response {
        var headers = headers
        if let wanted = DigestAlgorithm(wanted: request.headers[.wantReprDigest]) {
            headers[.reprDigest] = try await digest(wanted)
        }
        return Response(
            status: status, headers: headers,
            body: try await body(of: parts, isHead: request.method == .head, on: channel, onSent: onSent))
    }
}

extension [FilePiece] {
    /// The parts of files that make up a range of the concatenated bytes.
    subscript(bytes range: Range<Int>) -> [FilePiece] {
        var start = 0
        return compactMap { piece in
            defer { start += piece.range.count }
            let part = range.clamped(to: start..<start + piece.range.count)
            guard !part.isEmpty else { return nil }
            let shift = piece.range.lowerBound - start
            return FilePiece(file: piece.file, range: part.lowerBound + shift..<part.upperBound + shift)
        }
    }
}
