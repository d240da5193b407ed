import Contracts
import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Identity
import Logging
import Postgres
import Records
import ServiceKit
import Timeline

/// All uploads, independent of the protocol.
struct UploadStore: Sendable {
    let database: TransferStore
    let storage: any Storage
    let limits: UploadLimits
    let counts: ByteCounts
    let meter: QuotaMeter
    let logger: Logger
    private let active = ActiveUploads()

    /// Creates an upload without bytes.
    ///
    /// - Parameters:
    ///   - addsBytes: whether its bytes are not yet stored.
    ///   - describe: sets the client's values.
    /// - Throws: `upload_quota_exceeded`.
    func create(
        for context: ServiceContext, addsBytes: Bool = true, _ describe: (inout Upload) -> Void
    ) async throws -> Upload {
        let caller = try context.requireCaller(.operate)
        var upload = Upload(id: UUID.random().lowercased, owner: caller.description, fleet: caller.fleet)
        describe(&upload)
        guard let quota = limits.quota(ofOwner: upload.owner) else {
            return try await database.insert(upload, lifetime: limits.lifetime)
        }
        let stored = try await database.insert(
            upload, lifetime: limits.lifetime, within: quota, addsBytes: addsBytes)
        guard let stored else { throw Problem.uploadQuota }
        return stored
    }

    /// Returns the length that an upload without a known length may reach within the quota of its owner.
    ///
    /// - Returns: nil without a limit.
    func allowedLength(of upload: Upload) async throws -> Int? {
        guard upload.length == nil, let quota = limits.quota(ofOwner: upload.owner) else { return nil }
        return upload.received + (try await database.room(for: upload, within: quota))
    }

    /// Stores the state of an upload.
    ///
    /// - Parameter unmeasured: the number of its new bytes, if they belong to no known length.
    /// - Returns: the stored upload; nil if another request has taken it, or it is gone.
    /// - Throws: `upload_quota_exceeded`; the stored state is the former one then.
    func commit(_ upload: Upload, adding unmeasured: Int) async throws -> Upload? {
        guard unmeasured > 0, let quota = limits.quota(ofOwner: upload.owner) else {
            return try await database.commit(upload, lifetime: limits.lifetime)
        }
        let (fits, stored) = try await database.commit(
            upload, adding: unmeasured, lifetime: limits.lifetime, within: quota)
        guard fits else { throw Problem.uploadQuota }
        return stored
    }

    /// Sets the length of an upload. A length that was unknown at the creation is checked here.
    ///
    /// - Throws: `upload_too_large`, `upload_quota_exceeded`, `upload_superseded`.
    func set(_ length: Int, of upload: inout Upload) async throws {
        guard length <= limits.maxSize else { throw Problem.uploadTooLarge }
        guard upload.length == nil, let quota = limits.quota(ofOwner: upload.owner) else {
            return upload.length = length
        }
        let (fits, stored) = try await database.set(length, of: upload, within: quota)
        guard fits else { throw Problem.uploadQuota }
        guard let stored else { throw Problem.uploadSuperseded }
        upload = stored
    }

    /// Returns an upload without an effect on its writer.
    ///
    /// - Throws: `not_found`, `upload_gone`.
    func find(_ context: ServiceContext) async throws -> Upload {
        let caller = try context.requireCaller(.read)
        return try admit(caller, try await database.upload(try context.parameters.identifier("upload")))
    }

    /// Returns a complete upload as the source of a task.
    ///
    /// - Throws: `not_found`, `upload_gone`, `upload_incomplete`.
    func complete(_ id: String, for caller: Caller) async throws -> Upload {
        let upload = try admit(caller, try await database.upload(id))
        guard upload.isComplete else { throw Problem.uploadIncomplete }
        return upload
    }

    /// Takes an upload over from an older request. A request of this process is stopped at once; a request of another
    /// replica fails at its next commit.
    ///
    /// - Throws: `not_found`, `upload_gone`.
    func take<T>(
        _ context: ServiceContext, _ scope: Caller.Scope, _ body: (Upload, ActiveUploads.ActiveUpload) async throws -> T
    ) async throws -> T {
        let caller = try context.requireCaller(scope)
        // A caller without access must not stop a request of another.
        let upload = try admit(caller, try await database.upload(try context.parameters.identifier("upload")))
        return try await active.take(upload.id, context.channel) { active in
            try await body(try admit(caller, try await database.seize(upload.id)), active)
        }
    }

    /// Takes an upload that this request has created, like ``take(_:_:_:)``. No other request knows its id yet.
    func take<T>(
        _ created: Upload, _ context: ServiceContext, _ body: (ActiveUploads.ActiveUpload) async throws -> T
    ) async throws -> T {
        try await active.take(created.id, context.channel) { active in try await body(active) }
    }

    /// Deletes an upload.
    ///
    /// - Parameter call: the request to delete it; nil if the service itself deletes it.
    func delete(_ upload: Upload, _ call: Call? = nil) async throws {
        try await database.reapUpload(upload.id, try call.flatMap { try audit($0, upload) })
        try await empty(upload.id, upload.segments.map(\.file))
    }

    /// Moves the files of an upload that is gone to the trash, and then removes their names. So a sweep repeats it after
    /// a crash.
    ///
    /// - Parameter forGood: whether the files do not stay in the trash.
    func empty(_ id: String, _ files: [String], forGood: Bool = false) async throws {
        for file in files {
            try await storage.discard(file, from: .uploads)
            if forGood { try await storage.remove(file, from: StorageFolder.uploads.trash) }
        }
        try await database.emptied(id)
    }

    /// Returns the entry of the audit trail for an upload that an operator deletes.
    private func audit(_ call: Call, _ upload: Upload) throws -> AuditEntry? {
        guard case .operator = try call.context.requireCaller(.operate) else { return nil }
        return try call.audit(.uploadRemoved, of: "upload:" + upload.id, details: ["owner": .string(upload.owner)])
    }

    private func admit(_ caller: Caller, _ upload: Upload?) throws(Problem) -> Upload {
        guard let upload else { throw .notFound }
        if case .operator = caller {} else if caller.description != upload.owner { throw .notFound }
        guard !upload.isGone else { throw .uploadGone }
        return upload
    }

    /// Sends a complete upload, or ranges of it.
    ///
    /// - Throws: `not_found`, `upload_gone`, `upload_incomplete`, `precondition_failed`, `range_not_satisfiable`.
    func read(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let upload = try await find(context)
        guard upload.isComplete else { throw Problem.uploadIncomplete }
        var pieces: [FilePiece] = []
        do {
            for segment in upload.segments where segment.size > 0 {
                let file = try await storage.open(segment.file, in: .uploads)
                pieces.append(FilePiece(file: file, range: 0..<segment.size))
            }
        } catch StorageError.missing { throw Problem.uploadGone }
        let representation = Representation(
            // A browser must not run uploaded content as content of this origin.
            pieces: pieces, contentType: "application/octet-stream",
            // A complete upload never changes.
            validators: .init(etag: "\"\(upload.id)\"", modifiedAt: nil),
            onSent: { [counts] in counts.sent($0, by: .uploads) },
            digest: { [pieces] in try await $0.field(of: pieces.map { .file($0) }) })
        var response = try await representation.response(to: request, on: context.channel, now: RealClock().now)
        response.headers[.contentDisposition] = "attachment"
        return response
    }

    /// Concatenates partial uploads without a copy of their bytes.
    ///
    /// - Throws: `partial_upload_unfinished`, `upload_too_large`, `not_found`, `upload_gone`.
    func concatenate(_ ids: [String], _ describe: (inout Upload) -> Void, for context: ServiceContext) async throws
        -> Upload
    {
        let caller = try context.requireCaller(.operate)
        var parts: [Upload] = []
        for id in ids {
            let part = try admit(caller, try await database.upload(id))
            guard part.isPartial, part.isComplete else { throw Problem.partialUnfinished }
            parts.append(part)
        }
        let size = parts.reduce(0) { $0 + $1.received }
        guard size <= limits.maxSize else { throw Problem.uploadTooLarge }
        let sources = parts.flatMap(\.segments).filter { $0.size > 0 }
        var upload = try await create(for: context, addsBytes: false) { upload in
            describe(&upload)
            upload.length = size
            upload.segments = sources.indices.map { UploadSegment(file: "\(upload.id).\($0)", size: 0) }
        }
        do {
            for (source, own) in zip(sources, upload.segments) {
                try await storage.link(source.file, from: .uploads, as: own.file, in: .uploads)
            }
        } catch StorageError.missing {
            try await delete(upload)
            throw Problem.uploadGone
        }
        for index in sources.indices { upload.segments[index].size = sources[index].size }
        (upload.received, upload.isComplete) = (size, true)
        guard let complete = try await database.commit(upload, lifetime: limits.lifetime) else {
            throw Problem.uploadSuperseded
        }
        return complete
    }
}
