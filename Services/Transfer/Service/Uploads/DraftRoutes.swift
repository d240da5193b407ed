import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import Records
import Timeline

/// Uploads by draft-ietf-httpbis-resumable-upload: `/uploads`. ``UploadDraftVersion`` has the differences of its versions.
struct DraftRoutes: Sendable {
    static let mediaType = "application/partial-upload"

    let store: UploadStore
    let address: UploadAddress

    func add(to table: inout RouteTable) {
        let (all, one) = ("/uploads", "/uploads/{upload}")
        for path in [all, one] {
            table.add(.options, path, "Limits of uploads", .open, .status(.noContent)) { _ in
                Response(
                    status: .noContent,
                    headers: [.acceptPatch: Self.mediaType, .uploadLimit: "max-size=\(store.limits.maxSize)"])
            }
        }
        table.add(
            .post, all, "Creates an upload and sends 104 with its location before it reads the body (IETF draft)",
            .takesContent, .ignoresIdempotencyKey, .status(.created),
            .refuses(
                [.draftVersion, .inconsistentLength, .uploadSuperseded, .uploadTooLarge, .uploadQuota, .uploadCut]
                    + .ofStoring)
        ) { call in try await answer { try await create(call, try UploadDraftVersion(call.request.headers)) } }
        table.add(
            .head, one, "The offset of an upload (IETF draft)", .status(.noContent),
            .refuses([.draftVersion, .uploadGone, .invalidHeader])
        ) { try await head($0, try UploadDraftVersion($0.request.headers)) }
        table.add(
            .patch, one, "Appends to an upload (IETF draft)", .takesContent, .status(.noContent, .created),
            .refuses(
                [
                    .draftVersion, .uploadGone, .invalidHeader, .inconsistentLength, .uploadCompleted,
                    .mismatchingOffset, .uploadSuperseded, .uploadTooLarge, .uploadQuota, .uploadType, .uploadCut,
                ] + .ofStoring)
        ) { call in try await answer { try await patch(call, try UploadDraftVersion(call.request.headers)) } }
        table.add(.delete, one, "Cancels an upload (IETF draft)", .refuses([.uploadGone])) { call in
            try await store.take(call.context, .operate) { upload, _ in
                try await store.delete(upload, call)
                return NoContent()
            }
        }
        table.add(
            .get, one, "The bytes of a complete upload, or ranges of them", .bytes("application/octet-stream"),
            .status(.ok, .partialContent),
            .refuses([.uploadGone, .uploadIncomplete, .preconditionFailed, .rangeNotSatisfiable, .storageExhausted])
        ) { call in try await withStorage { try await store.read(call.request, call.context) } }
    }

    private func answer(_ work: () async throws -> Response) async throws -> Response {
        do { return try await store.meter.watch { try await withStorage(work) } } catch let fault as DraftFault {
            return fault.response
        } catch let problem as Problem where problem == .uploadTooLarge {
            throw problem.with(.uploadLimit, "max-size=\(store.limits.maxSize)")
        }
    }

    private func create(_ call: Call, _ version: UploadDraftVersion) async throws -> Response {
        let (request, context) = (call.request, call.context)
        let completes = version.completes(request.headers)
        let length = try length(request, version, completes ?? true, from: 0)
        guard length ?? 0 <= store.limits.maxSize else { throw Problem.uploadTooLarge }
        let upload = try await store.create(for: context) { upload in
            upload.length = length
            upload.contentType = request.headers[.contentType]
        }
        // Only clients that send a version and Upload-Complete or Upload-Incomplete understand interim responses.
        let understands = completes != nil && request.headers[.draftVersion] != nil
        if understands {
            var fields = interim(version)
            fields[.location] = location(of: upload, request)
            if version.knowsPartialUpload { fields[.uploadLimit] = limits(upload, version) }
            await context.sendInterim(.uploadResumptionSupported, fields)
        }
        let appended = try await store.take(upload, context) { active in
            try await append(request, context, to: upload, completes ?? true, version, understands, active)
        }
        var headers: HTTPFields = [.location: location(of: upload, request)]
        describe(appended, version, in: &headers)
        return Response(status: .created, headers: headers)
    }

    private func head(_ call: Call, _ version: UploadDraftVersion) async throws -> Response {
        let state: [HTTPField.Name] = [.uploadOffset, .uploadComplete, .uploadIncomplete]
        if version.refusesStateInHead, state.contains(where: { call.request.headers[$0] != nil }) {
            throw Problem.invalidHeader.with(
                detail: "HEAD must not have Upload-Offset, Upload-Complete or Upload-Incomplete")
        }
        return try await store.take(call.context, .read) { upload, _ in
            var headers: HTTPFields = [.cacheControl: "no-store"]
            describe(upload, version, in: &headers)
            if version.knowsPartialUpload { headers[.uploadLength] = upload.length.map(String.init) }
            return Response(status: .noContent, headers: headers)
        }
    }

    private func patch(_ call: Call, _ version: UploadDraftVersion) async throws -> Response {
        let (request, context) = (call.request, call.context)
        if version.knowsPartialUpload, request.headers[.contentType] != Self.mediaType {
            throw Problem.uploadType.with(.acceptPatch, Self.mediaType)
        }
        guard let offset = request.headers[.uploadOffset].flatMap(naturalNumber) else {
            throw Problem.invalidHeader.with(detail: "Upload-Offset must be a number of bytes")
        }
        // In draft 01 a missing header means complete.
        guard let completes = version.completes(request.headers) ?? (version == .three ? true : nil) else {
            throw Problem.invalidHeader.with(detail: "Upload-Complete must be ?0 or ?1")
        }
        return try await store.take(context, .operate) { upload, active in
            var upload = upload
            guard offset == upload.received else {
                throw DraftFault.mismatchingOffset(offset, of: upload, version)
            }
            guard !upload.isComplete else { throw DraftFault.completed }
            if let length = try length(request, version, completes, from: offset) {
                let announced = request.headers[.contentLength].flatMap(naturalNumber) ?? 0
                guard upload.length ?? length == length, announced <= length - offset else {
                    throw DraftFault.inconsistentLength
                }
                try await store.set(length, of: &upload)
            }
            let understands = request.headers[.draftVersion] != nil
            let appended = try await append(request, context, to: upload, completes, version, understands, active)
            var headers: HTTPFields = [:]
            describe(appended, version, in: &headers)
            guard appended.isComplete else { return Response(status: version.appended, headers: headers) }
            headers[.location] = location(of: upload, request)
            return Response(status: .created, headers: headers)
        }
    }

    private func append(
        _ request: Request, _ context: ServiceContext, to upload: Upload, _ completes: Bool,
        _ version: UploadDraftVersion,
        _ understands: Bool, _ active: ActiveUploads.ActiveUpload
    ) async throws -> Upload {
        var append = UploadAppend(request, completes ? .withBody : .not)
        if upload.length != nil { append.overflow = DraftFault.inconsistentLength }
        let appended = try await store.append(append, to: upload, active) { offset in
            guard understands, version.knowsPartialUpload else { return }
            var fields = interim(version)
            fields[.uploadOffset] = String(offset)
            await context.sendInterim(.uploadResumptionSupported, fields)
        }
        // The bytes are stored, but the announced length needs more.
        guard appended.isComplete || !completes else { throw DraftFault.inconsistentLength }
        return appended
    }

    /// Returns the length of the upload, from `Upload-Length` or from the end of the body.
    private func length(
        _ request: Request, _ version: UploadDraftVersion, _ completes: Bool, from offset: Int
    ) throws(DraftFault) -> Int? {
        let announced = request.headers[.contentLength].flatMap(naturalNumber)
        let implied = completes ? announced.map { offset + $0 } : nil
        // An invalid number counts as absent.
        let stated = version.knowsPartialUpload ? request.headers[.uploadLength].flatMap(naturalNumber) : nil
        if let stated, let implied, stated != implied { throw .inconsistentLength }
        return stated ?? implied
    }

    private func location(of upload: Upload, _ request: Request) -> String {
        address.url(of: "/uploads/\(upload.id)", asked: request)
    }

    private func interim(_ version: UploadDraftVersion) -> HTTPFields { [.draftVersion: version.rawValue] }

    private func describe(_ upload: Upload, _ version: UploadDraftVersion, in headers: inout HTTPFields) {
        headers[.uploadOffset] = String(upload.received)
        version.tell(upload.isComplete, in: &headers)
        if version.knowsPartialUpload, !upload.isComplete { headers[.uploadLimit] = limits(upload, version) }
    }

    private func limits(_ upload: Upload, _ version: UploadDraftVersion) -> String {
        let remaining = upload.expiresAt.map { ($0.milliseconds - RealClock().now.milliseconds) / 1000 }
        return "max-size=\(store.limits.maxSize)" + (remaining.map { ", \(version.age)=\(max(0, $0))" } ?? "")
    }
}

extension HTTPResponse.Status {
    /// The interim response of the draft.
    static let uploadResumptionSupported = HTTPResponse.Status(
        code: 104, reasonPhrase: "Upload Resumption Supported")
}
