import HTTPTypes
public import Hummingbird
public import Telemetry

/// Counts and times requests by route. Labels with paths would make an unbounded number of series.
public struct MetricsMiddleware: RouterMiddleware {
    private let metrics: Metrics

    /// Creates the middleware.
    public init(metrics: Metrics) { self.metrics = metrics }

    public func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        metrics.add(to: .requestsInFlight)
        defer { metrics.add(-1, to: .requestsInFlight) }
        let response = try await next(request, context)
        let route = context.endpointPath ?? "none"
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "other"
        let status = String(response.status.code)
        metrics.add(to: .requests, ["method": method, "route": route, "status": status])
        metrics.observe((ContinuousClock.now - start) / .seconds(1), in: .requestSeconds, ["route": route])
        return response
    }

    // Clients can invent methods, and each would be a series of its own.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .put, .post, .patch, .delete, .options]
}
