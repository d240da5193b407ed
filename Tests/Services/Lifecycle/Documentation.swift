import HTTPTypes
import Records
import ServiceKit
import TestSupport

/// What the API description allows each route to answer. All answers that the tests get are held to it, so that neither can
/// drift from the other.
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

    /// The routes that answer a document.
    var reads: [Route] { routes.filter { $0.method == .get } }

    /// What the description shows as the answer of a route.
    func content(of route: Route) -> JSON? {
        paths[route.path]?[route.method.rawValue.lowercased()]?["responses"]?["200"]?["content"]
    }

    /// What is not documented about an answer; nil where all is, and where no route was asked.
    func fault(of answer: LifecycleBench.Answer, to method: String, _ path: String) -> String? {
        if let fault = description.fault(of: answer, to: method, path) { return fault }
        // What is described is the record that the route names.
        guard answer.status < 300, !answer.isEmpty, answer.contentType == "application/json",
            let type = route(method, path)?.response
        else { return nil }
        do { _ = try type.init(jsonBytes: Array(answer.body.utf8)) } catch { return "this is no \(type): \(error)" }
        return nil
    }

    /// The codes of all problems that a route may answer.
    func codes(of route: Route) -> Set<String> {
        description.operation(route.method.rawValue, route.path)?.errors ?? []
    }

    /// The route that a call takes.
    func route(_ method: String, _ path: String) -> Route? {
        guard let operation = description.operation(method, path) else { return nil }
        return routes.first { $0.method.rawValue == operation.method && $0.path == operation.path }
    }
}
