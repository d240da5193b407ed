import Records
import Synchronization

/// The allowed response statuses of each route, from the API descriptions of the services.
final class Documentation: Sendable {
    private struct Route: Hashable {
        var service: ServiceName
        var method: String
        var path: String
    }

    private let statuses = Mutex<[Route: Set<Int>]>([:])
    private let described = Mutex<Set<ServiceName>>([])

    /// The statuses that the suite allows for every route, in addition to those that a route lists.
    static let everywhere: Set<Int> = [400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 503, 504]

    /// Reads an OpenAPI document.
    func learn(_ service: ServiceName, _ document: JSON) {
        statuses.withLock { statuses in
            for path in document["paths"]?.members ?? [] {
                for operation in path.value.members ?? [] {
                    let codes = operation.value["responses"]?.members?.compactMap { Int($0.name) } ?? []
                    let route = Route(
                        service: service, method: operation.name.uppercased(), path: Self.anonymous(path.name))
                    statuses[route] = Set(codes)
                }
            }
        }
        described.withLock { _ = $0.insert(service) }
    }

    /// Whether the service describes the route; true if it gave no description.
    func offers(_ call: Call) -> Bool {
        guard described.withLock({ $0.contains(call.service) }) else { return true }
        return statuses.withLock { $0[Self.route(call)] != nil }
    }

    /// Whether a status is allowed. Of the 5xx statuses, only 503, 504 and a documented 507 (a full disk) are.
    func allows(_ status: Int, to call: Call) -> Bool {
        guard status < 500 || status == 507 || Self.everywhere.contains(status) else { return false }
        let documented = statuses.withLock { $0[Self.route(call)] }
        return Self.everywhere.contains(status) || (documented ?? [200, 201, 202, 204, 405]).contains(status)
    }

    private static func route(_ call: Call) -> Route {
        Route(service: call.service, method: call.method, path: anonymous(call.route))
    }

    /// Returns the path without the names of its parameters.
    private static func anonymous(_ path: String) -> String {
        path.split(separator: "/").map { $0.hasPrefix("{") ? "/{}" : "/" + $0 }.joined()
    }
}
