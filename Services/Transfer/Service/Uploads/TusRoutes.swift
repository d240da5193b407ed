import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity

/// Uploads by tus 1.0 (https://tus.io/protocols/resumable-upload): `/files`.
struct TusRoutes: Sendable {
    static let version = "1.0.0"
    static let mediaType = "application/offset+octet-stream"
    static let extensions = [
        "creation", "creation-with-upload", "creation-defer-length", "expiration", "checksum", "checksum-trailer",
        "termination", "concatenation",
    ].joined(separator: ",")

    static let algorithms = UploadChecksum.Algorithm.allCases.map(\.rawValue).joined(separator: ",")

    let store: UploadStore
    let address: UploadAddress

    func add(to table: inout RouteTable) {
        let (all, one) = ("/files", "/files/{upload}")
        for path in [all, one] {
            table.add(.options, path, "Extensions and limits of tus", .open, .status(.noContent)) { _ in options }
        }
        table.add(
            .post, all, "Creates an upload, or concatenates partial uploads (tus)", .takesContent,
            .ignoresIdempotencyKey, .status(.created, .noContent),
            .refuses(
                [
                    .tusVersion, .methodNotAllowed, .notFound, .invalidHeader, .uploadTooLarge, .uploadQuota,
                    .uploadType,
                    .uploadChecksum, .partialUnfinished, .uploadGone, .uploadCut,
                ] + .ofStoring)
        ) { call in
            try await answer(call.request) {
                switch method(of: call.request) {
                case .post: try await create(call.request, call.context)
                case .options: options
                default: throw Problem.methodNotAllowed
                }
            }
        }
        let reading: [Problem] = [.uploadIncomplete, .preconditionFailed, .rangeNotSatisfiable, .storageExhausted]
        let appending: [Problem] =
            [
                .invalidHeader, .uploadOffset, .uploadSuperseded, .uploadTooLarge, .uploadQuota, .uploadType,
                .uploadChecksum,
                .uploadFinal, .uploadCut,
            ] + .ofStoring
        let methods: [(HTTPRequest.Method, String, [HTTPResponse.Status], [Problem])] = [
            (.head, "The offset of an upload (tus)", [.ok], [.tusVersion]),
            (.patch, "Appends to an upload (tus)", [.noContent], [.tusVersion] + appending),
            (.delete, "Deletes an upload (tus)", [.noContent], [.tusVersion]),
            (
                .post, "Acts as the method in X-HTTP-Method-Override (tus)", [.noContent, .ok, .partialContent],
                [.tusVersion] + appending + reading
            ),
            (.get, "The bytes of a complete upload, or ranges of them", [.ok, .partialContent], reading),
        ]
        for (method, summary, statuses, problems) in methods {
            table.add(
                method, one, summary, .status(statuses), .ignoresIdempotencyKey,
                .takesContent([.patch, .post].contains(method)),
                .bytes(statuses.contains(.partialContent) ? "application/octet-stream" : nil),
                // X-HTTP-Method-Override applies to requests of any method.
                .refuses([.uploadGone, .methodNotAllowed] + problems)
            ) { call in try await answer(call.request) { try await serve(call) } }
        }
    }

    private func serve(_ call: Call) async throws -> Response {
        let (request, context) = (call.request, call.context)
        return switch method(of: request) {
        case .get: try await store.read(request, context)
        case .head:
            try await store.take(context, .read) { upload, _ in Response(status: .ok, headers: description(upload)) }
        case .patch: try await patch(request, context)
        case .delete:
            try await store.take(context, .operate) { upload, _ in
                try await store.delete(upload, call)
                return Response(status: .noContent)
            }
        case .options: options
        default: throw Problem.methodNotAllowed
        }
    }

    /// Returns the method in `X-HTTP-Method-Override`, which clients send that can't send every method.
    private func method(of request: Request) -> HTTPRequest.Method {
        request.headers[.methodOverride].flatMap { .init($0.uppercased()) } ?? request.method
    }

    private var options: Response {
        Response(
            status: .noContent,
            headers: [
                .tusResumable: Self.version, .tusVersion: Self.version, .tusExtension: Self.extensions,
                .tusMaxSize: String(store.limits.maxSize), .tusChecksumAlgorithm: Self.algorithms,
            ])
    }

    /// Requires `Tus-Resumable` in every request except OPTIONS and GET, and adds it to every answer.
    private func answer(_ request: Request, _ work: () async throws -> Response) async throws -> Response {
        let asked = request.headers[.tusResumable]
        do {
            guard asked == Self.version || [.options, .get].contains(method(of: request)) else {
                throw Problem.tusVersion
            }
            var response = try await store.meter.watch { try await withStorage(work) }
            response.headers[.tusResumable] = Self.version
            return response
        } catch let problem as Problem {
            throw problem.with(.tusResumable, Self.version)
        }
    }

    private func create(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let wishes = try TusCreation(request.headers)
        let describe: (inout Upload) -> Void = { upload in
            upload.length = wishes.length
            upload.metadata = wishes.metadata
            upload.concatenation = wishes.concatenation
            upload.isComplete = wishes.length == 0
        }
        if let parts = wishes.parts {
            let upload = try await store.concatenate(parts, describe, for: context)
            return created(upload, request)
        }
        guard wishes.length ?? 0 <= store.limits.maxSize else { throw Problem.uploadTooLarge }
        let hasBody = try hasBody(request)
        var append = UploadAppend(request, .atLength)
        append.check = try UploadCheck(request.headers, context)
        // Refuses the body before it creates an upload.
        if let announced = append.announced, announced > wishes.length ?? store.limits.maxSize {
            throw Problem.uploadTooLarge
        }
        let upload = try await store.create(for: context, describe)
        guard hasBody else { return created(upload, request) }
        let appended = try await store.take(upload, context) { try await store.append(append, to: upload, $0) }
        var response = created(appended, request)
        response.headers[.uploadOffset] = String(appended.received)
        return response
    }

    private func created(_ upload: Upload, _ request: Request) -> Response {
        var headers: HTTPFields = [.location: address.url(of: "/files/\(upload.id)", asked: request)]
        headers[.uploadExpires] = upload.expiresAt.map { HTTPDate.text($0) }
        return Response(status: .created, headers: headers)
    }

    private func patch(_ request: Request, _ context: ServiceContext) async throws -> Response {
        guard request.headers[.contentType] == Self.mediaType else { throw Problem.uploadType }
        guard let offset = request.headers[.uploadOffset].flatMap(naturalNumber) else {
            throw Problem.invalidHeader.with(detail: "Upload-Offset must be a number of bytes")
        }
        var append = UploadAppend(request, .atLength)
        append.check = try UploadCheck(request.headers, context)
        let upload = try await store.take(context, .operate) { [append] upload, active in
            var upload = upload
            guard !upload.isFinal else { throw Problem.uploadFinal }
            guard offset == upload.received else {
                throw Problem.uploadOffset.with(.uploadOffset, String(upload.received))
            }
            if let text = request.headers[.uploadLength] {
                guard let length = naturalNumber(text), upload.length ?? length == length, length >= offset else {
                    throw Problem.invalidHeader.with(
                        detail: "Upload-Length must be a number of bytes that does not change")
                }
                guard append.announced ?? 0 <= length - offset else { throw append.overflow }
                try await store.set(length, of: &upload)
            }
            return try await store.append(append, to: upload, active)
        }
        var headers: HTTPFields = [.uploadOffset: String(upload.received)]
        headers[.uploadExpires] = upload.expiresAt.map { HTTPDate.text($0) }
        return Response(status: .noContent, headers: headers)
    }

    private func description(_ upload: Upload) -> HTTPFields {
        var headers: HTTPFields = [.uploadOffset: String(upload.received), .cacheControl: "no-store"]
        if let length = upload.length {
            headers[.uploadLength] = String(length)
        } else {
            headers[.uploadDeferLength] = "1"
        }
        headers[.uploadMetadata] = upload.metadata
        headers[.uploadConcat] = upload.concatenation
        headers[.uploadExpires] = upload.expiresAt.map { HTTPDate.text($0) }
        return headers
    }

    /// Whether the request has a body.
    ///
    /// - Throws: `upload_media_type`.
    private func hasBody(_ request: Request) throws(Problem) -> Bool {
        let isEmpty = request.headers[.contentLength].map { $0 == "0" } ?? (request.headers[.transferEncoding] == nil)
        guard !isEmpty else { return false }
        guard request.headers[.contentType] == Self.mediaType else { throw .uploadType }
        return true
    }
}
