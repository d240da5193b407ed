import HTTPTypes
import Hummingbird
public import Records

extension RouteTable {
    /// The description of the API (OpenAPI 3.1), made of the routes themselves.
    public func openAPI(title: String, version: String) -> JSON {
        var paths: [(path: String, operations: [JSON.Member])] = []
        for route in routes {
            let operation = JSON.Member(route.method.rawValue.lowercased(), route.openAPI)
            if let index = paths.firstIndex(where: { $0.path == route.path }) {
                paths[index].operations.append(operation)
            } else {
                paths.append((route.path, [operation]))
            }
        }
        return [
            "openapi": "3.1.0", "info": ["title": .string(title), "version": .string(version)],
            "paths": .object(paths.map { JSON.Member($0.path, .object($0.operations)) }),
            "components": [
                "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]],
                "schemas": ["Problem": Self.problem],
            ],
        ]
    }

    /// Adds `/openapi.json`, which describes all routes added so far and itself.
    public mutating func addOpenAPI(title: String, version: String) {
        var described = self
        described.add(.get, "/openapi.json", Self.summary, access: .open) { _, _ in Response(json: []) }
        let bytes = described.openAPI(title: title, version: version).bytes
        add(.get, "/openapi.json", Self.summary, access: .open) { _, _ in Response(json: bytes) }
    }

    private static let summary = "The description of this API"

    private static let problem: JSON = [
        "type": "object", "required": ["type", "title", "status", "code"],
        "properties": [
            "type": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
            "code": ["type": "string"], "detail": ["type": "string"],
            "faults": [
                "type": "array",
                "items": [
                    "type": "object", "properties": ["pointer": ["type": "string"], "detail": ["type": "string"]],
                ],
            ],
        ],
    ]
}

extension Route {
    fileprivate var openAPI: JSON {
        var members = [JSON.Member("summary", .string(summary)), JSON.Member("responses", .object(responses))]
        let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        var parameters = names.map { name -> JSON in
            ["name": .string(name), "in": "path", "required": true, "schema": Self.identifier]
        }
        if honoursIdempotencyKey {
            parameters.append([
                "name": .string(HTTPField.Name.idempotencyKey.rawName), "in": "header", "required": false,
                "description": "Repeated with the same key within 24 h, the request has its effect once",
                "schema": Self.identifier,
            ])
        }
        if !parameters.isEmpty {
            members.append(JSON.Member("parameters", .array(parameters)))
        }
        if let request {
            members.append(JSON.Member("requestBody", ["required": true, "content": Self.content(request)]))
        }
        switch access {
        case .open: members.append(JSON.Member("security", []))
        case .caller, .scope: members.append(JSON.Member("security", [["bearer": []]]))
        }
        return .object(members)
    }

    private var responses: [JSON.Member] {
        var success = [JSON.Member("description", .string(status.reasonPhrase))]
        if let response { success.append(JSON.Member("content", Self.content(response))) }
        var members = [JSON.Member(String(status.code), .object(success))]
        let byStatus = Dictionary(grouping: allProblems, by: \.status.code).sorted { $0.key < $1.key }
        for (status, problems) in byStatus where status != self.status.code {
            var codes: [String] = []
            for problem in problems where !codes.contains(problem.code) { codes.append(problem.code) }
            members.append(
                JSON.Member(
                    String(status),
                    [
                        "description": .string(codes.map { "`\($0)`" }.joined(separator: ", ")),
                        "content": [
                            "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
                        ],
                    ]))
        }
        return members
    }

    private static let identifier: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"]

    private static func content(_ type: any Record.Type) -> JSON { ["application/json": ["schema": type.schema]] }
}
