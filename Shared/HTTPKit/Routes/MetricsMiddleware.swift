public import HTTPTypes
public import Hummingbird
import Synchronization
public import Telemetry

/// Counts and times requests by route. Labels with paths would make an unbounded number of series.
public struct MetricsMiddleware: RouterMiddleware {
    private let inFlight: MetricSeries
    private let series: RequestSeries

    /// Creates the middleware.
    public init(metrics: Metrics) {
        inFlight = metrics.series(of: .requestsInFlight)
        series = RequestSeries(metrics: metrics)
    }

    public func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        inFlight.add()
        defer { inFlight.add(-1) }
        let response = try await next(request, context)
        series.note(context.endpointPath, request.method, response.status.code, since: start)
        return response
    }
}

/// The series of answered requests. It keeps them, so that a request builds no labels.
public final class RequestSeries: Sendable {
    private struct Key: Hashable {
        let route: String
        let method: HTTPRequest.Method?
        let status: Int
    }

    // Clients can invent methods, and each would be a series of its own.
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .put, .post, .patch, .delete, .options]

    private let metrics: Metrics
    private let known = Mutex<[Key: (count: MetricSeries, seconds: MetricSeries)]>([:])

    public init(metrics: Metrics) { self.metrics = metrics }

    /// Counts an answered request.
    ///
    /// - Parameters:
    ///   - route: nil for an unknown path.
    ///   - since: the time of the request's head.
    public func note(
        _ route: String?, _ method: HTTPRequest.Method, _ status: Int, since start: ContinuousClock.Instant
    ) {
        let answered = of(route ?? "none", method, status)
        answered.count.add()
        answered.seconds.observe((ContinuousClock.now - start) / .seconds(1))
    }

    private func of(
        _ route: String, _ method: HTTPRequest.Method, _ status: Int
    ) -> (count: MetricSeries, seconds: MetricSeries) {
        let key = Key(route: route, method: Self.methods.contains(method) ? method : nil, status: status)
        if let series = known.withLock({ $0[key] }) { return series }
        let labels: Metrics.Labels = [
            "method": key.method?.rawValue ?? "other", "route": route, "status": String(status),
        ]
        let series = (metrics.series(of: .requests, labels), metrics.series(of: .requestSeconds, ["route": route]))
        known.withLock { $0[key] = series }
        return series
    }
}
