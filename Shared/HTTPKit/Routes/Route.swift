public import EventLog
public import EventLog
public import HTTPTypes
public import Hummingbird
public import Identity
public import Records
public import Telemetry

/// A route: its handler and its part of the API description.
public struct Route: Sendable {
    /// The callers that may use a route.
    public enum Access: Sendable {
        /// All, without a credential.
        case open
        /// All with a valid credential; the handler checks further.
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
        /// The route ignores it, for example for a file of a web page.
        case ignored
    }

    /// Answers an admitted request.
    public typealias Handler = @Sendable (Request, ServiceContext) async throws -> Response

    public let method: HTTPRequest.Method
    /// The path, with parameters in braces, for example `/v1/devices/{device}`.
    public let path: String
    public let summary: String
    public internal(set) var access = Access.caller
    /// The parameters besides the identifiers of the path.
    public internal(set) var parameters: [RouteParameter] = []
    /// The type of the JSON body; nil if there is none.
    public internal(set) var request: (any Record.Type)?
    /// The type of the documents on the lines of an NDJSON body; nil if there is none.
    public internal(set) var line: (any Record.Type)?
    /// The type of the JSON answer; nil if there is none.
    public internal(set) var response: (any Value.Type)?
    /// The statuses of success, the most usual first.
    public internal(set) var statuses = [HTTPResponse.Status.ok]
    /// Text that the route returns besides a JSON document, or instead of one.
    public internal(set) var text: TextContent?
    /// The media type of an answer that is not a document; `*/*` if it varies.
    public internal(set) var bytes: String?
    /// The problems that do not follow from the rest of the description.
    public internal(set) var problems: [Problem] = []
    /// The values of `{"reason": …}` by status, if another protocol defines the errors.
    public internal(set) var reasons: [Int: [String]] = [:]
    /// An example of an answer, in JSON.
    public internal(set) var example: String?
    /// Whether the API description contains the route. A route that only refuses is left out.
    public internal(set) var isDescribed = true
    /// Whether its body is not a document and may be large. Such requests have their own slots.
    public internal(set) var takesContent = false
    public internal(set) var unknownQuery = UnknownQuery.refused
    /// Whether the route treats `Idempotency-Key` as unknown.
    var ignoresIdempotencyKey = false
    /// Returns the document of its body without secrets, for the fingerprint.
    var omitsSecrets: @Sendable (JSON) -> JSON = { $0 }
    /// Checks parameters of the path before the body is read.
    var check: (@Sendable (Call) throws -> Void)?
    var handler: Handler = { _, _ in throw Problem.notFound }

    init(_ method: HTTPRequest.Method, _ path: String, _ summary: String) {
        self.method = method
        self.path = path
        self.summary = summary
    }

    /// Whether a repeat with the same `Idempotency-Key` takes effect once: each `POST` that needs a credential.
    public var honoursIdempotencyKey: Bool {
        if case .open = access { false } else { method == .post && !ignoresIdempotencyKey }
    }

    /// Returns a handler that first reads the document of a request with an idempotency key, for its fingerprint.
    func repeatable(_ handler: @escaping Handler) -> Handler {
        guard self.request != nil else { return handler }
        return { [omitsSecrets] request, context in
            guard request.headers[.idempotencyKey] != nil else { return try await handler(request, context) }
            var (request, context) = (request, context)
            (request, context.document) = try await context.receiving {
                var read = request
                let document = try await read.repeatableDocument(omitsSecrets)
                return (read, document)
            }
            return try await handler(request, context)
        }
    }

    /// Returns the range of a query parameter with a whole number.
    public func range(of parameter: String) -> ClosedRange<Int> {
        parameters.first { $0.name == parameter }?.range ?? Int.min...Int.max
    }

    var isRead: Bool { method == .get || method == .head }

    /// The parameters of its path that are identifiers.
    private(set) var identifiers: [String] = []

    /// Finds the identifiers among the parameters of the path. The others have a description.
    mutating func findIdentifiers() {
        let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        identifiers = names.filter { name in !parameters.contains { $0.name == name } }
    }

    /// Whether the route uses ``Commands``.
    private var isOfDevice: Bool {
        if case .caller = access { path.contains("{device}") } else { false }
    }

    /// Every problem that the route may return.
    var allProblems: [Problem] {
        guard reasons.isEmpty else { return [] }
        var all = problems
        if queryRule != nil { all.append(.invalidQuery) }
        // `OPTIONS` gives the same answer for any identifier.
        if !identifiers.isEmpty, method != .options { all += [.invalidIdentifier, .notFound] }
        if request != nil { all += [.malformedJSON, .unsupportedMediaType, .bodyTooLarge, .invalidDocument] }
        if request != nil || takesContent { all.append(.requestTimeout) }
        if line != nil { all += [.unsupportedMediaType, .invalidHeader, .behind, .positionBeyondLog] }
        if honoursIdempotencyKey {
            all.append(.invalidHeader)
            // A batch reports it for a line.
            if line == nil { all.append(.idempotencyConflict) }
        }
        if isOfDevice { all += isRead ? Problem.ofReads : Problem.ofCommands }
        switch access {
        case .open: all += [.busy, .tooManyFromAddress]
        case .caller, .scope:
            all += Problem.ofCredentials + [.forbidden, .busy] + Problem.ofDatabase
        }
        if all.contains(.positionBeyondLog) || parameters.contains(where: \.isPlace) {
            all.append(.earlierIncarnation)
        }
        return all + [.internalError]
    }
}

/// The routes of a service, which also generate its API description.
public struct RouteTable: Sendable {
    public private(set) var routes: [Route] = []
    /// Accepts connections with HTTP/2 without TLS; nil if the service has no HTTP/2.
    public var http2: HTTP2Acceptor?
    /// Reads the latest events about an aggregate before a read about it is refused; nil without a machine.
    public var catchUp: CatchUp?

    /// Creates an empty table.
    public init() {}

    /// Adds a route without a JSON body. The type of the answer is a part of its description.
    public mutating func add<Answer: RouteResponse>(
        _ method: HTTPRequest.Method, _ path: String, _ summary: String, _ traits: RouteTrait...,
        use handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        add(Route(method, path, summary), traits, handler)
    }

    /// Adds a route whose JSON body has a type. The parameters of the path are checked before the body is read.
    public mutating func add<Body: Record, Answer: RouteResponse>(
        _ method: HTTPRequest.Method, _ path: String, _ summary: String, body: Body.Type, _ traits: RouteTrait...,
        use handler: @escaping @Sendable (Body, Call) async throws -> Answer
    ) {
        var route = Route(method, path, summary)
        route.request = body
        add(route, traits) { call in
            for name in call.route.identifiers { _ = try call.identifier(name) }
            try call.route.check?(call)
            let document: Body = try await call.document()
            return try await handler(document, call)
        }
    }

    private mutating func add<Answer: RouteResponse>(
        _ described: Route, _ traits: [RouteTrait], _ handler: @escaping @Sendable (Call) async throws -> Answer
    ) {
        var route = described
        (route.response, route.statuses) = (Answer.documentType, [Answer.defaultStatus])
        for trait in traits { trait.apply(&route) }
        route.findIdentifiers()
        let complete = route
        let status = complete.statuses.first ?? .ok
        route.handler = { try await handler(Call(route: complete, request: $0, context: $1)).response(status) }
        routes.append(route)
    }

    /// Returns the methods of a path; empty if no route has it.
    func methods(at path: String) -> [HTTPRequest.Method] {
        let parts = path.split(separator: "/")
        return routes.filter { route in
            let pattern = route.path.split(separator: "/")
            return pattern.count == parts.count && zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }.map(\.method)
    }

    /// Returns a responder with these routes behind limits, problems, metrics and authentication.
    ///
    /// - Parameters:
    ///   - rates: the limits of request rates.
    ///   - slots: the limits of requests in progress and of long answers. Routes without a credential have slots of
    ///     their own, so that a full service still answers probes. A refused credential takes no slot.
    ///   - incarnation: the incarnation of the log.
    ///   - accessLog: gets a line for each request; nil for none.
    public func responder(
        authenticator: Authenticator, metrics: Metrics, rates: RequestRates = RequestRates(),
        slots: RequestSlots = RequestSlots(), incarnation: LogIncarnation = .first, accessLog: AccessLog? = nil,
        tracer: Tracer? = nil
    ) -> RouterResponder<ServiceContext> {
        let router = Router(context: ServiceContext.self)
        if let accessLog { router.add(middleware: AccessLogMiddleware(log: accessLog)) }
        router.add(middleware: MetricsMiddleware(metrics: metrics))
        router.add(middleware: ProblemMiddleware(table: self, tracer: tracer))
        router.add(middleware: NotModifiedMiddleware())
        router.add(middleware: ContinueMiddleware())
        let entrance = Entrance(authenticator: authenticator, rates: rates, slots: slots, incarnation: incarnation)
        for route in routes {
            let handler = entrance.handler(of: route, route.repeatable(route.rereading(catchUp)))
            router.on(RouterPath(route.path), method: route.method, use: handler)
        }
        return router.buildResponder()
    }
}
