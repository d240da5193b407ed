public import Hummingbird
import Synchronization

/// Refuses requests with 503 `busy` while as many as the limit are under way, so that a full service answers at once
/// instead of slowly.
public final class InFlightLimit: RouterMiddleware {
    public typealias Context = ServiceContext

    private let limit: Int
    private let count = Mutex(0)

    public init(_ limit: Int) { self.limit = limit }

    public func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let isAdmitted = count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { throw Problem.busy }
        defer { count.withLock { $0 -= 1 } }
        return try await next(request, context)
    }
}
