import HTTPTypes
import Hummingbird

/// Answers 304 to a `GET` or `HEAD` whose `If-None-Match` lists the document's `ETag` (RFC 9110 section 13.1.2).
struct NotModifiedMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        guard request.method == .get || request.method == .head, response.status == .ok,
            let tag = response.headers[.eTag], request.knows(tag)
        else { return response }
        var headers = response.headers
        headers[.contentType] = nil
        headers[.contentLength] = nil
        return Response(status: .notModified, headers: headers)
    }
}

extension Request {
    /// Returns whether `If-None-Match` lists a tag by weak comparison, or is `*`.
    fileprivate func knows(_ tag: String) -> Bool {
        headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }.map { $0.trimmed() }.contains { listed in
            listed == "*" || listed.withoutWeakness == tag.withoutWeakness
        }
    }
}

extension String {
    fileprivate var withoutWeakness: Substring { hasPrefix("W/") ? dropFirst(2) : self[...] }
}
