import HTTPTypes
import Hummingbird
public import Records

extension RouteTable {
    /// Returns the description of the API (OpenAPI 3.1), generated from the routes.
    public func openAPI(title: String, version: String) -> JSON {
        var paths: [(path: String, operations: [JSON.Member])] = []
        var problems: [JSON.Member] = []
        for route in routes where route.isDescribed {
            let operation = JSON.Member(route.method.rawValue.lowercased(), route.openAPI)
            if let index = paths.firstIndex(where: { $0.path == route.path }) {
                paths[index].operations.append(operation)
            } else {
                paths.append((route.path, [operation]))
            }
            for problem in route.allProblems where !problems.contains(where: { $0.name == problem.code }) {
                problems.append(
                    JSON.Member(problem.code, ["summary": .string(problem.title), "value": problem.json]))
            }
        }
        return [
            "openapi": "3.1.0", "info": ["title": .string(title), "version": .string(version)],
            "paths": .object(paths.map { JSON.Member($0.path, .object($0.operations)) }),
            "components": [
                "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]],
                "schemas": ["Problem": Self.problem],
                "examples": .object(problems),
            ],
        ]
    }

    /// Adds `/openapi.json`, which describes itself and all routes that were added before.
    public mutating func addOpenAPI(title: String, version: String) {
        var described = self
        described.addDescription([], version)
        addDescription(described.openAPI(title: title, version: version).bytes, version)
    }

    private mutating func addDescription(_ bytes: [UInt8], _ version: String) {
        add(
            .get, "/openapi.json", "Returns the OpenAPI description of this API", .open,
            .example(
                #"{"components":{},"info":{"title":"Dormouse","version":"\#(version)"},"openapi":"3.1.0","paths":{}}"#)
        ) { _ in Reply<JSON>(json: bytes) }
    }

    private static let problem: JSON = [
        "type": "object", "required": ["type", "title", "status", "code"],
        "properties": [
            "type": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
            "code": ["type": "string"], "detail": ["type": "string"],
            "trace": [
                "type": "string", "description": "Only with 500: the `trace` of the log lines about the request",
            ],
            "errors": [
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
        let parameters = allParameters.map(\.openAPI)
        if !parameters.isEmpty { members.append(JSON.Member("parameters", .array(parameters))) }
        let content = [("application/json", request), (LineBatches.mediaType, line)].compactMap { type, body in
            body.map { JSON.Member(type, ["schema": $0.schema]) }
        }
        if !content.isEmpty {
            members.append(JSON.Member("requestBody", ["required": true, "content": .object(content)]))
        }
        switch access {
        case .open: members.append(JSON.Member("security", []))
        case .caller, .scope: members.append(JSON.Member("security", [["bearer": []]]))
        }
        return .object(members)
    }

    /// The described parameters, the identifiers of the path, and `Idempotency-Key`.
    private var allParameters: [RouteParameter] {
        let identifiers = identifiers.map { RouteParameter($0, in: .path, "An identifier", Self.identifier) }
        guard honoursIdempotencyKey else { return identifiers + parameters }
        let key = RouteParameter(
            HTTPField.Name.idempotencyKey.rawName, in: .header,
            "A request that is repeated with the same key within 24 h takes effect once", Self.identifier)
        return identifiers + parameters + [key]
    }

    private var responses: [JSON.Member] {
        var members = statuses.map { status in
            var success = [JSON.Member("description", .string(status.reasonPhrase))]
            let content = content(of: status)
            if !content.isEmpty { success.append(JSON.Member("content", .object(content))) }
            return JSON.Member(String(status.code), .object(success))
        }
        if isRead, bytes != nil {
            let status = HTTPResponse.Status.notModified
            members.append(JSON.Member(String(status.code), ["description": .string(status.reasonPhrase)]))
        }
        let byStatus = Dictionary(grouping: allProblems, by: \.status.code).sorted { $0.key < $1.key }
        for (status, problems) in byStatus where status != statuses.first?.code {
            members.append(JSON.Member(String(status), Self.described(problems)))
        }
        for (status, words) in reasons.sorted(by: { $0.key < $1.key }) {
            members.append(JSON.Member(String(status), Self.described(words)))
        }
        return members
    }

    /// Returns the content of a successful answer by media type.
    private func content(of status: HTTPResponse.Status) -> [JSON.Member] {
        guard status != .noContent else { return [] }
        var content: [JSON.Member] = []
        if let response {
            var document = [JSON.Member("schema", response.schema)]
            // The tests of the service find an example that is not JSON.
            if let example, let json = try? JSON(parsing: Array(example.utf8)) {
                document.append(JSON.Member("example", json))
            }
            content.append(JSON.Member("application/json", .object(document)))
        }
        if let text {
            content.append(JSON.Member(text.type, ["schema": ["type": "string"], "example": .string(text.example)]))
        }
        if let bytes {
            content.append(JSON.Member(bytes, [:]))
            // Several ranges (RFC 9110 section 14.6).
            if status == .partialContent, bytes != "*/*" { content.append(JSON.Member("multipart/byteranges", [:])) }
        }
        return content
    }

    /// Returns the response with the problems of one status.
    private static func described(_ problems: [Problem]) -> JSON {
        var codes: [String] = []
        for problem in problems where !codes.contains(problem.code) { codes.append(problem.code) }
        let code: JSON = ["enum": .array(codes.map { .string($0) })]
        let schema: JSON = [
            "allOf": [["$ref": "#/components/schemas/Problem"], ["properties": ["code": code]]]
        ]
        let examples = codes.map { JSON.Member($0, ["$ref": .string("#/components/examples/\($0)")]) }
        return [
            "description": .string(codes.map { "`\($0)`" }.joined(separator: ", ")),
            "content": ["application/problem+json": ["schema": schema, "examples": .object(examples)]],
        ]
    }

    /// Returns the response with the reasons of one status, as another protocol defines them.
    private static func described(_ reasons: [String]) -> JSON {
        let schema: JSON = [
            "type": "object", "required": ["reason"],
            "properties": ["reason": ["enum": .array(reasons.map { .string($0) })], "timestamp": ["type": "integer"]],
        ]
        return [
            "description": .string(reasons.map { "`\($0)`" }.joined(separator: ", ")),
            "content": ["application/json": ["schema": schema]],
        ]
    }

    private static let identifier: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"]
}
