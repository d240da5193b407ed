import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Records
import Timeline

extension ContentRoutes {
    /// Stores a file (RFC 9110 section 9.3.4).
    func put(_ call: Call) async throws -> Reply<ContentDocument> {
        let request = call.request
        let path = try ContentPath(target: request.uri.path).text
        // A server without partial PUT should refuse Content-Range (section 14.5).
        guard request.headers[.contentRange] == nil else {
            throw Problem.invalidHeader.with(detail: "Content-Range: PUT replaces the whole file")
        }
        let type = try contentType(request)
        let conditions = Preconditions(request.headers)
        // An early check, so that a client does not send a body that is then refused. The check in `place` decides.
        try conditions.require(of: try await store.content(path), now: clock.now)
        let name = UUID().lowercased
        let body = try await storage.receive(request, as: name, in: .contents) {
            [counts] in counts.received($0, by: .content)
        }
        do {
            var content = StoredContent(
                path: path, file: name, size: body.size, sha256: body.sha256, contentType: type, modifiedAt: .epoch)
            let audit = try call.audit(
                .contentStored, of: "content:" + path,
                details: ["sha256": .string(body.sha256), "size": .int(body.size)])
            let isNew = try await place(&content, conditions, audit)
            var reply = Reply(ContentDocument(content))
            reply.status = isNew ? .created : .ok
            reply.headers[.eTag] = content.etag
            return reply
        } catch let error as PlacingFailed {
            // The row may refer to the file, so the file stays. If not, the sweep finds it.
            throw error.reason
        } catch {
            await discard(name)
            throw error
        }
    }

    /// Removes a file (RFC 9110 section 9.3.5).
    func delete(_ call: Call) async throws -> NoContent {
        let path = try ContentPath(target: call.request.uri.path).text
        let conditions = Preconditions(call.request.headers)
        let audit = try call.audit(.contentRemoved, of: "content:" + path)
        while true {
            let found = try await store.content(path)
            try conditions.require(of: found, now: clock.now)
            guard let found else { throw Problem.notFound }
            guard try await store.remove(found, audit) else { continue }
            await discard(found.file)
            return NoContent()
        }
    }

    /// The database failed while a row was to refer to the file. The outcome is unknown.
    private struct PlacingFailed: Error { let reason: any Error }

    /// Makes the row of a path refer to a new file, if the preconditions hold. Repeats after a concurrent change.
    ///
    /// - Returns: whether the path is new.
    private func place(
        _ content: inout StoredContent, _ conditions: Preconditions, _ audit: AuditEntry
    ) async throws -> Bool {
        while true {
            let former = try await store.content(content.path)
            let now = clock.now
            try conditions.require(of: former, now: now)
            let second = now.milliseconds / 1000
            // With the same date for two states, a resumed download could mix them.
            let next = former.map { $0.modifiedAt.milliseconds / 1000 + 1 } ?? second
            content.modifiedAt = Instant(milliseconds: max(second, next) * 1000)
            do {
                guard try await store.put(content, inPlaceOf: former, audit) else { continue }
            } catch { throw PlacingFailed(reason: error) }
            if let former { await discard(former.file) }
            return former == nil
        }
    }

    /// Returns the media type, which must be one line of ASCII because answers repeat it in headers.
    private func contentType(_ request: Request) throws(Problem) -> String {
        guard let type = request.headers[.contentType] else { return "application/octet-stream" }
        guard type.utf8.count <= 255, type.contains("/"), type.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            throw .invalidHeader.with(detail: "Content-Type: must be a media type of at most 255 characters")
        }
        return type
    }
}
