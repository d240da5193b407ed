import HTTPTypes
import NIOHTTP1
import Records
import ServiceKit

/// What the API description allows each route to answer. All answers that the tests get are held to it, so that neither can
/// drift from the other.
struct Documentation: Sendable {
    let routes: [Route]
    private let paths: JSON

    init(_ table: RouteTable) {
        routes = table.routes
        paths = table.openAPI(title: "lifecycle", version: "1")["paths"] ?? .null
    }

    /// The routes that answer a document.
    var reads: [Route] { routes.filter { $0.method == .get } }

    /// What the description shows as the answer of a route.
    func content(of route: Route) -> JSON? {
        paths[route.path]?[route.method.rawValue.lowercased()]?["responses"]?["200"]?["content"]
    }

    /// What is not documented about an answer; nil where all is, and where no route was asked.
    func fault(of answer: LifecycleBench.Answer, to method: String, _ path: String) -> String? {
        guard let route = route(method, path) else { return nil }
        if answer.status == 304, method == "GET" { return nil }
        let status = String(answer.status)
        guard let documented = paths[route.path]?[method.lowercased()]?["responses"]?[status] else {
            return "the status \(status) is not documented for \(route.path)"
        }
        let media = answer.headers.first(name: "Content-Type")
        let content = documented["content"]?.members ?? []
        guard content.contains(where: { $0.name == media }) || content.isEmpty && answer.body.isEmpty else {
            return "\(status) with \(media ?? "no content type") is not documented for \(route.path)"
        }
        guard media == "application/problem+json" else { return fault(of: answer.body, route) }
        return Self.codes(documented).contains(answer.code ?? "")
            ? nil : "\(status) \(answer.code ?? "without a code") is not documented for \(route.path)"
    }

    /// The codes of all problems that a route may answer.
    func codes(of route: Route) -> [String] {
        let responses = paths[route.path]?[route.method.rawValue.lowercased()]?["responses"]?.members ?? []
        return responses.flatMap { Self.codes($0.value) }
    }

    private static func codes(_ response: JSON) -> [String] {
        let schemas = response["content"]?["application/problem+json"]?["schema"]?["allOf"]?.items ?? []
        return schemas.flatMap { $0["properties"]?["code"]?["enum"]?.items ?? [] }.compactMap(\.string)
    }

    private func fault(of body: String, _ route: Route) -> String? {
        guard let type = route.response, !body.isEmpty else { return nil }
        do { _ = try type.init(jsonBytes: Array(body.utf8)) } catch {
            return "this is no \(type): \(error)"
        }
        return nil
    }

    /// The route that a call takes.
    func route(_ method: String, _ path: String) -> Route? {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        return routes.first { route in
            let pattern = route.path.split(separator: "/")
            return route.method.rawValue == method && pattern.count == parts.count
                && zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
    }
}
