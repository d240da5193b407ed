import HTTPKit
import HTTPTypes
import Records
import TestSupport

/// The responses that the API description allows for each route. The tests check every response against it, so that the
/// two cannot drift apart.
struct Documentation: Sendable {
    let routes: [Route]
    private let paths: JSON
    private let description: APIDescription

    init(_ table: RouteTable) {
        routes = table.routes
        let document = table.openAPI(title: "lifecycle", version: "1")
        paths = document["paths"] ?? .null
        description = APIDescription(document)
    }

    /// The routes with a response document.
    var reads: [Route] { routes.filter { $0.method == .get } }

    /// Returns the described response of a route.
    func content(of route: Route) -> JSON? {
        paths[route.path]?[route.method.rawValue.lowercased()]?["responses"]?["200"]?["content"]
    }

    /// Returns the undocumented part of a response; nil if all is documented or the request matches no route.
    func fault(of answer: LifecycleFixture.Answer, to method: String, _ path: String) -> String? {
        if let fault = description.fault(of: answer, to: method, path) { return fault }
        // The description has the record of the route.
        guard answer.status < 300, !answer.isEmpty, answer.contentType == "application/json",
            let type = route(method, path)?.response
        else { return nil }
        do { _ = try type.init(jsonBytes: Array(answer.body.utf8)) } catch { return "this is no \(type): \(error)" }
        return nil
    }

    /// Returns the problem codes of a route.
    func codes(of route: Route) -> Set<String> {
        description.operation(route.method.rawValue, route.path)?.errors ?? []
    }

    /// Returns the route of a request.
    func route(_ method: String, _ path: String) -> Route? {
        guard let operation = description.operation(method, path) else { return nil }
        return routes.first { $0.method.rawValue == operation.method && $0.path == operation.path }
    }
}
