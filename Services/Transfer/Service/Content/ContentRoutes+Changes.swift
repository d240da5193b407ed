import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit
import Timeline

extension ContentRoutes {
    /// RFC 9110 section 9.3.4.
    func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try ContentPath(target: request.uri.path).text
        // A part that was taken for the whole would spoil the file (section 14.5).
        guard request.headers[.contentRange] == nil else {
            throw Problem.invalidHeader.because("Content-Range: a file is put as a whole")
        }
        let type = try contentType(request)
        let conditions = Conditions(request.headers)
        // Looked at before the body comes, so that nobody sends it in vain; it counts when the file takes its place.
        try conditions.require(of: try await table.find(path), now: clock.now)
        let name = UUID().lowercased
        let body = try await storage.receive(request, as: name, in: .contents) {
            [counts] in counts.received($0, by: .content)
        }
        do {
            var content = StoredContent(
                path: path, file: name, size: body.size, sha256: body.sha256, contentType: type, modifiedAt: .epoch)
            let isNew = try await place(&content, conditions)
            var response = Response(ContentDocument(content), status: isNew ? .created : .ok)
            response.headers[.eTag] = content.etag
            return response
        } catch let error as PlacingFailed {
            // It may have its place none the less: at worst its space is lost.
            throw error.reason
        } catch {
            await discard(name)
            throw error
        }
    }

    /// RFC 9110 section 9.3.5.
    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try ContentPath(target: request.uri.path).text
        let conditions = Conditions(request.headers)
        while true {
            let found = try await table.find(path)
            try conditions.require(of: found, now: clock.now)
            guard let found else { throw Problem.notFound }
            guard try await table.remove(found) else { continue }
            await discard(found.file)
            return Response(status: .noContent)
        }
    }

    /// The database failed while a file was given its place.
    private struct PlacingFailed: Error { let reason: any Error }

    /// Gives a file its place, if the preconditions hold at that moment. Each who comes in between delays it once.
    ///
    /// - Returns: whether nothing was there.
    private func place(_ content: inout StoredContent, _ conditions: Conditions) async throws -> Bool {
        while true {
            let former = try await table.find(content.path)
            let now = clock.now
            try conditions.require(of: former, now: now)
            let second = now.milliseconds / 1000
            // Two states within a second would have one date, and a download could be made of both.
            let next = former.map { $0.modifiedAt.milliseconds / 1000 + 1 } ?? second
            content.modifiedAt = Instant(milliseconds: max(second, next) * 1000)
            do {
                guard try await table.put(content, inPlaceOf: former) else { continue }
            } catch { throw PlacingFailed(reason: error) }
            if let former { await discard(former.file) }
            return former == nil
        }
    }

    /// It comes back in headers, and in the heads of parts: one line of ASCII.
    private func contentType(_ request: Request) throws(Problem) -> String {
        guard let type = request.headers[.contentType] else { return "application/octet-stream" }
        guard type.utf8.count <= 255, type.contains("/"), type.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
            throw .invalidHeader.because("Content-Type: not a media type of at most 255 characters")
        }
        return type
    }
}
