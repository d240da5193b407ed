import HTTPTypes
import Hummingbird

extension RouteTable {
    /// Returns the problem of a request without a route. It names the methods of the path and the service that has it.
    func missing(_ request: Request) -> Problem {
        let (method, path) = (request.method, request.uri.path)
        let allowed = Set(methods(at: path).map(\.rawValue)).sorted().joined(separator: ", ")
        let other = SuiteRoutes.service(of: method.rawValue, path).map { service in
            " The service `\(service.name)` serves it, by default on port \(service.port)."
        }
        guard allowed.isEmpty else {
            var problem = Problem.methodNotAllowed.with(
                detail: "\(method.rawValue) is not allowed at \(shown(request)); allowed: \(allowed).\(other ?? "")")
            problem.headers[.allow] = allowed
            return problem
        }
        return .notFound.with(
            detail: "This service has no route for \(method.rawValue) \(shown(request)).\(other ?? "")")
    }

    /// Returns a request's path, shortened to 200 characters.
    func shown(_ request: Request) -> String {
        let path = request.uri.path
        return path.utf8.count > 200 ? "\(path.prefix(200))…" : path
    }
}
