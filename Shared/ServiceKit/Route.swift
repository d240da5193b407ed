public import HTTPTypes
public import Hummingbird
public import Records

/// One route: what it does and what the API description says of it.
public struct Route: Sendable {
    /// Who may ask.
    public enum Access: Sendable {
        /// Anybody.
        case open
        /// Whoever shows a valid credential; the handler looks further.
        case caller
        /// Operators whose key has the scope.
        case scope(Caller.Scope)
    }

    /// The handling of query parameters that the route does not describe.
    public enum UnknownQuery: Sendable {
        /// The request is refused before the handler runs.
        case refused
        /// The handler refuses the request, and reports all other faults with it.
        case refusedByHandler
        /// Clients may add any query, as for a file of a web page.
        case ignored
    }

    public typealias Handler = @Sendable (Request, ServiceContext) async throws -> Response

    public let method: HTTPRequest.Method
    /// With parameters in braces, for example `/v1/devices/{device}`.
    public let path: String
    public let summary: String
    public let access: Access
    /// What it takes beside the identifiers of its path.
    public let parameters: [RouteParameter]
    public let request: (any Record.Type)?
    public let response: (any Value.Type)?
    /// The status of success.
    public let status: HTTPResponse.Status
    /// Further statuses of success.
    public let further: [HTTPResponse.Status]
    /// What it answers beside a JSON document, or instead of one.
    public let text: TextContent?
    /// The media type of the bytes that it answers instead of a document; `*/*` where they have types of their own.
    public let bytes: String?
    /// The problems of its own, beside those that follow from the rest of the description.
    public let problems: [Problem]
    /// What it answers instead of problems, where another's protocol says how errors look: by status, the words that
    /// `{"reason": …}` may have.
    public let reasons: [Int: [String]]
    /// A document as it may answer, in JSON.
    public let example: String?
    /// Whether the API description has it. What only tells callers that there is nothing here is left out.
    public let isDescribed: Bool
    /// Whether an `Idempotency-Key` has the effect that it is to have.
    public let honoursIdempotencyKey: Bool
    /// Whether its body is no document and may be large. Such requests have slots of their own.
    public let takesContent: Bool
    public let unknownQuery: UnknownQuery
    let handler: Handler

    /// Returns a handler that first reads the document of a repeatable request, for its fingerprint.
    func repeatable(_ handler: @escaping Handler) -> Handler {
        guard self.request != nil else { return handler }
        return { request, context in
            guard request.headers[.idempotencyKey] != nil else { return try await handler(request, context) }
            var (request, context) = (request, context)
            context.document = try await request.repeatableDocument()
            return try await handler(request, context)
        }
    }

    var isRead: Bool { method == .get || method == .head }

    /// The parameters of its path that are identifiers.
    var identifiers: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
            .filter { name in !parameters.contains { $0.name == name } }
    }

    /// Whether it goes the way of ``Commands``: on to the machine that holds the device.
    private var isOfDevice: Bool {
        if case .caller = access { path.contains("{device}") } else { false }
    }

    /// Every problem that the route may answer.
    var allProblems: [Problem] {
        guard reasons.isEmpty else { return [] }
        var all = problems
        if queryRule != nil { all.append(.invalidQuery) }
        // What is understood at a path is told whatever it names.
        if !identifiers.isEmpty, method != .options { all += [.invalidIdentifier, .notFound] }
        if request != nil { all += [.malformedJSON, .unsupportedMediaType, .bodyTooLarge, .invalidDocument] }
        if request != nil || takesContent { all.append(.requestTimeout) }
        if honoursIdempotencyKey { all += [.invalidHeader, .idempotencyConflict] }
        if isOfDevice { all += isRead ? Problem.ofReads : Problem.ofCommands }
        switch access {
        case .open: break
        case .caller, .scope:
            all += Problem.ofCredentials + [.forbidden, .busy] + Problem.ofDatabase
        }
        return all + [.internalError]
    }
}

/// The routes of a service. Registering one is documenting it.
public struct RouteTable: Sendable {
    public private(set) var routes: [Route] = []
    /// Takes connections that speak HTTP/2 in the clear; nil where the service has nothing to say to them.
    public var http2: HTTP2Acceptor?
    /// Reads the latest events about an aggregate before a read about it is refused; nil if the service has no log.
    public var catchUp: CatchUp?

    public init() {}

    /// Adds a route. All but the method, the path, the access and the handler only describes it.
    ///
    /// - Parameters:
    ///   - honoursIdempotencyKey: by default true for each `POST` with an authenticated caller.
    ///   - takesContent: whether its body is no document and may be large.
    public mutating func add(
        _ method: HTTPRequest.Method, _ path: String, _ summary: String, access: Route.Access = .caller,
        parameters: [RouteParameter] = [], request: (any Record.Type)? = nil, response: (any Value.Type)? = nil,
        status: HTTPResponse.Status = .ok, further: [HTTPResponse.Status] = [], text: TextContent? = nil,
        bytes: String? = nil, problems: [Problem] = [], reasons: [Int: [String]] = [:], example: String? = nil,
        isDescribed: Bool = true, honoursIdempotencyKey: Bool? = nil, takesContent: Bool = false,
        unknownQuery: Route.UnknownQuery = .refused, use handler: @escaping Route.Handler
    ) {
        let isOpen = if case .open = access { true } else { false }
        routes.append(
            Route(
                method: method, path: path, summary: summary, access: access, parameters: parameters, request: request,
                response: response, status: status, further: further, text: text, bytes: bytes, problems: problems,
                reasons: reasons, example: example, isDescribed: isDescribed,
                honoursIdempotencyKey: honoursIdempotencyKey ?? (method == .post && !isOpen),
                takesContent: takesContent, unknownQuery: unknownQuery, handler: handler))
    }

    /// The methods that a path has; empty where there is no such path.
    func methods(at path: String) -> [HTTPRequest.Method] {
        let parts = path.split(separator: "/")
        return routes.filter { route in
            let pattern = route.path.split(separator: "/")
            return pattern.count == parts.count && zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }.map(\.method)
    }

    /// What answers requests by these routes: limits, problems, metrics and credentials around the handlers.
    ///
    /// - Parameters:
    ///   - rates: how many requests a credential may make.
    ///   - slots: the limits of requests under way. Open routes take no slot, so that a full service still answers
    ///     probes. A request without a valid credential takes no slot either.
    public func responder(
        authenticator: Authenticator, metrics: Metrics, rates: RequestRates = RequestRates(),
        slots: RequestSlots = RequestSlots()
    ) -> RouterResponder<ServiceContext> {
        let router = Router(context: ServiceContext.self)
        router.add(middleware: MetricsMiddleware(metrics: metrics))
        router.add(middleware: ProblemMiddleware(table: self))
        router.add(middleware: NotModifiedMiddleware())
        router.add(middleware: ContinueMiddleware())
        let entrance = Entrance(authenticator: authenticator, rates: rates, slots: slots)
        for route in routes {
            let handler = entrance.handler(of: route, route.repeatable(route.rereading(catchUp)))
            router.on(RouterPath(route.path), method: route.method, use: handler)
        }
        return router.buildResponder()
    }
}
