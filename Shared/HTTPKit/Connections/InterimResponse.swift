public import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1

extension ServiceContext {
    /// Sends an interim response (RFC 9110 section 15.2) ahead of the answer.
    ///
    /// The framework lets a handler give one answer only, so this writes below it. Nothing else writes before the
    /// answer. It sends nothing on a closed connection, or to a client of HTTP/1.0.
    public func sendInterim(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:]) async {
        let channel = channel
        try? await channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            guard try pipeline.handler(type: RequestGuard.self).version == .http1_1 else { return }
            let context = try pipeline.context(handlerType: HTTPResponseEncoder.self)
            guard let encoder = context.handler as? HTTPResponseEncoder else { return }
            let head = HTTPResponseHead(
                version: .http1_1,
                status: HTTPResponseStatus(statusCode: status.code, reasonPhrase: status.reasonPhrase),
                headers: HTTPHeaders(fields.map { ($0.name.rawName, $0.value) }))
            encoder.write(context: context, data: NIOAny(HTTPServerResponsePart.head(head)), promise: nil)
            context.flush()
        }.get()
    }
}

/// Answers `Expect: 100-continue` (RFC 9110 section 10.1.1) when a route begins to read the body.
///
/// A client whose request is refused before then has sent none of its body.
struct ContinueMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard request.headers[values: .expect].contains(where: { $0.lowercased() == "100-continue" }) else {
            return try await next(request, context)
        }
        var request = request
        request.body = RequestBody(asyncSequence: AwaitedBody(body: request.body, context: context))
        return try await next(request, context)
    }
}

private struct AwaitedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: RequestBody
    let context: ServiceContext

    func makeAsyncIterator() -> Iterator { Iterator(body: body.makeAsyncIterator(), context: context) }

    struct Iterator: AsyncIteratorProtocol {
        var body: RequestBody.AsyncIterator
        let context: ServiceContext
        private var isAsked = false

        init(body: RequestBody.AsyncIterator, context: ServiceContext) {
            self.body = body
            self.context = context
        }

        mutating func next() async throws -> ByteBuffer? {
            if !isAsked { await context.sendInterim(.continue) }
            isAsked = true
            return try await body.next()
        }
    }
}
