import Contracts
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Postgres
import Records
import ServiceKit
import Timeline

/// The other end of downloads: `/content/{path}`.
///
/// Reading is open to all, other than every other call: clients that nobody here wrote fetch from it as from any server of
/// files, and a credential in the headers of a download task would end up in the log. Operators alone put anything there.
struct ContentRoutes: Sendable {
    let storage: Storage
    let table: ContentTable
    let clock: any SuiteClock
    let logger: Logger

    func add(to table: inout RouteTable) {
        let path = "/content/{path}"
        table.add(
            .put, path, "Puts a file there, in place of another", access: .scope(.operate),
            response: ContentDocument.self, problems: [.diskFull]
        ) { try await put($0, $1) }
        for method in [HTTPRequest.Method.get, .head] {
            table.add(
                method, path, "A file, or ranges of it", access: .open, problems: [.rangeNotSatisfiable]
            ) { try await get($0, $1) }
        }
    }

    private func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try context.parameters.identifier("path")
        let name = UUID().lowercased
        let content: StoredContent
        let former: String?
        do {
            content = try await receive(request, path, name)
            former = try await table.put(content)
        } catch {
            // Nobody knows of it yet, so it can go; what is left of it is only space.
            try? await storage.remove(name, from: .contents)
            throw error is StorageError && error as? StorageError == .full ? Problem.diskFull : error
        }
        if let former {
            do { try await storage.remove(former, from: .contents) } catch {
                logger.warning("a replaced content could not be removed", metadata: ["error": "\(error)"])
            }
        }
        var response = Response(ContentDocument(content))
        response.headers[.eTag] = content.etag
        return response
    }

    /// Writes the body as it comes, and makes it durable.
    private func receive(_ request: Request, _ path: String, _ name: String) async throws -> StoredContent {
        let file = try await storage.create(name, in: .contents)
        var hash = SHA256()
        var size = 0
        var pending = ByteBuffer()
        for try await buffer in request.body {
            hash.update(buffer)
            pending.writeImmutableBuffer(buffer)
            guard pending.readableBytes >= FilePiece.chunk else { continue }
            try await file.write(pending, at: size)
            size += pending.readableBytes
            pending.clear()
        }
        try await file.write(pending, at: size)
        size += pending.readableBytes
        try await file.sync()
        let now = clock.now.milliseconds
        return StoredContent(
            path: path, file: name, size: size, sha256: hash.finalize().hexadecimal,
            contentType: request.headers[.contentType] ?? "application/octet-stream",
            modifiedAt: Instant(milliseconds: now - now % 1000))
    }

    private func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try context.parameters.identifier("path")
        let (content, file) = try await find(path)
        var conditions = ContentAnswer.Conditions()
        conditions.ifMatch = request.headers[.ifMatch]
        conditions.ifUnmodifiedSince = request.headers[.ifUnmodifiedSince]
        conditions.ifNoneMatch = request.headers[.ifNoneMatch]
        conditions.ifModifiedSince = request.headers[.ifModifiedSince]
        conditions.ifRange = request.headers[.ifRange]
        conditions.range = request.headers[.range]
        let answer = ContentAnswer(
            conditions, etag: content.etag, modifiedAt: content.modifiedAt, size: content.size,
            isHead: request.method == .head)
        var headers: HTTPFields = [
            .acceptRanges: "bytes", .eTag: content.etag, .lastModified: HTTPDate.text(content.modifiedAt),
        ]
        if request.headers[.wantReprDigest]?.contains("sha-256") == true {
            headers[.reprDigest] = "sha-256=:\(content.digest):"
        }
        switch answer {
        case .preconditionFailed: throw Problem.preconditionFailed
        case .notModified: return Response(status: .notModified, headers: headers)
        case .unsatisfiable: throw Problem.rangeNotSatisfiable(size: content.size)
        case .whole:
            headers[.contentType] = content.contentType
            let pieces = [BodyPiece.file(FilePiece(file: file, range: 0..<content.size))]
            return Response(status: .ok, headers: headers, body: body(of: pieces))
        case .ranges(let ranges) where ranges.count == 1:
            headers[.contentType] = content.contentType
            headers[.contentRange] = contentRange(ranges[0], content.size)
            let pieces = [BodyPiece.file(FilePiece(file: file, range: ranges[0]))]
            return Response(status: .partialContent, headers: headers, body: body(of: pieces))
        case .ranges(let ranges):
            let boundary = UUID().lowercased
            headers[.contentType] = "multipart/byteranges; boundary=\(boundary)"
            let pieces = multipart(ranges, content, file, boundary)
            return Response(status: .partialContent, headers: headers, body: body(of: pieces))
        }
    }

    /// The content and its open file. A file that is replaced between the two is looked up once more.
    private func find(_ path: String) async throws -> (StoredContent, StoredFile) {
        for isLast in [false, true] {
            guard let content = try await table.find(path) else { throw Problem.notFound }
            do { return (content, try await storage.open(content.file, in: .contents)) } catch StorageError.missing
                where !isLast
            { continue }
        }
        throw Problem.notFound
    }

    /// RFC 9110 section 14.6.
    private func multipart(
        _ ranges: [Range<Int>], _ content: StoredContent, _ file: StoredFile, _ boundary: String
    ) -> [BodyPiece] {
        var pieces: [BodyPiece] = []
        for range in ranges {
            let head =
                "\r\n--\(boundary)\r\nContent-Type: \(content.contentType)\r\n"
                + "Content-Range: \(contentRange(range, content.size))\r\n\r\n"
            pieces += [.text(head), .file(FilePiece(file: file, range: range))]
        }
        return pieces + [.text("\r\n--\(boundary)--\r\n")]
    }
}

private func contentRange(_ range: Range<Int>, _ size: Int) -> String {
    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
}

/// A part of an answer's body.
enum BodyPiece: Sendable {
    case text(String)
    case file(FilePiece)

    var length: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .file(let piece): piece.range.count
        }
    }
}

/// A body that is read while it is sent, never whole in memory.
func body(of pieces: [BodyPiece]) -> ResponseBody {
    ResponseBody(contentLength: pieces.reduce(0) { $0 + $1.length }) { writer in
        for piece in pieces {
            switch piece {
            case .text(let text): try await writer.write(ByteBuffer(string: text))
            case .file(let piece): try await piece.forEachChunk { try await writer.write($0) }
            }
        }
        try await writer.finish(nil)
    }
}

/// What a path holds now.
struct ContentDocument: Record {
    var path = ""
    var size = 0
    var etag = ""
    var sha256 = ""

    init() {}

    init(_ content: StoredContent) {
        path = content.path
        size = content.size
        etag = content.etag
        sha256 = content.sha256
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("etag", &etag)
        fields.field("path", &path)
        fields.field("sha256", &sha256)
        fields.field("size", &size)
    }
}

extension Problem {
    static let diskFull = Problem(
        .init(code: 507, reasonPhrase: "Insufficient Storage"), "disk_full", "No space is left for it", retryAfter: 60)
    static let rangeNotSatisfiable = Problem(
        .rangeNotSatisfiable, "range_not_satisfiable", "None of the ranges is in the file")

    /// With the size, so that the client can ask again.
    static func rangeNotSatisfiable(size: Int) -> Problem {
        var problem = rangeNotSatisfiable
        problem.headers[.contentRange] = "bytes */\(size)"
        return problem
    }
}

extension HTTPField.Name {
    /// RFC 9530.
    static let reprDigest = HTTPField.Name("Repr-Digest")!
    static let wantReprDigest = HTTPField.Name("Want-Repr-Digest")!
}

extension SHA256 {
    mutating func update(_ buffer: ByteBuffer) {
        buffer.withUnsafeReadableBytes { update(bufferPointer: $0) }
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }.joined()
    }
}

extension StoredContent {
    /// The SHA-256 in base64, as RFC 9530 writes it.
    fileprivate var digest: String {
        var bytes: [UInt8] = []
        var rest = sha256[...]
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return Data(bytes).base64EncodedString()
    }
}
