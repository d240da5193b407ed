import HTTPTypes
public import Hummingbird
import Logging
import NIOCore
import Records
public import Telemetry

/// The outermost layer: renders every thrown error exactly once, and adds `traceparent` and `nosniff` to every answer. It
/// also records the span of the request.
///
/// An unknown error becomes `internal_error`. Its description appears only in the log.
public struct ProblemMiddleware: RouterMiddleware {
    private let table: RouteTable

    private let tracer: Tracer?

    /// - Parameters:
    ///   - table: the routes, to distinguish a wrong method from a wrong path.
    ///   - tracer: keeps the spans; nil if they are not exported.
    public init(table: RouteTable, tracer: Tracer? = nil) { (self.table, self.tracer) = (table, tracer) }

    public func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let start = tracer.map { _ in ContinuousClock.now }
        let parent = request.headers[.traceparent].flatMap(Traceparent.init)
        if let parent {
            (context.traceparent, context.isTraced) = (parent.child(), true)
        } else if let tracer {
            context.traceparent = tracer.newTrace()
            context.isTraced = context.traceparent.isSampled
        }
        context.tracer = tracer
        context.logger[metadataKey: LogKey.trace] = .string(context.traceparent.traceID)
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            var problem = problem(of: error, request, context)
            if problem.status == .internalServerError { problem.trace = context.traceparent.traceID }
            response = Response(problem: problem)
        }
        response.headers[.traceparent] = context.traceparent.description
        // Stored content may be HTML of a stranger. A browser must not guess its type.
        response.headers[.xContentTypeOptions] = "nosniff"
        if let tracer, let start, context.traceparent.isSampled {
            tracer.record(Span(request, response.status.code, context, parent: parent?.spanID, start: start))
        }
        // RFC 9110 section 9.3.2: an answer to HEAD has no content. A client would read it as the next answer.
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func problem(of error: any Error, _ request: Request, _ context: ServiceContext) -> Problem {
        switch error {
        case let problem as Problem where problem.code == Problem.notFound.code && problem.detail == nil:
            problem.with(detail: "\(table.shown(request)) does not exist, or this credential may not see it.")
        case let error as HTTPError: self.problem(of: error, request, context)
        default: Problem(of: error, request, context)
        }
    }

    private func problem(of error: HTTPError, _ request: Request, _ context: ServiceContext) -> Problem {
        switch error.status {
        case .notFound:
            return table.missing(request)
        case .contentTooLarge: return .bodyTooLarge
        default:
            let code = error.status.reasonPhrase.lowercased().split(separator: " ").joined(separator: "_")
            return Problem(
                error.status, code.isEmpty ? "http_\(error.status.code)" : code, error.status.reasonPhrase,
                headers: error.headers)
        }
    }
}

extension Response {
    /// Creates the answer for a problem.
    public init(problem: Problem) {
        var headers = problem.headers
        headers[.contentType] = "application/problem+json"
        if let seconds = problem.retryAfter { headers[.retryAfter] = String(seconds) }
        self.init(
            status: problem.status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: problem.json.bytes)))
    }
}
