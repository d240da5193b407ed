public import Records

/// The parts of an answer that a description covers.
public protocol DescribedAnswer: Sendable {
    var status: Int { get }
    var contentType: String? { get }
    /// The body; null if it is not JSON.
    var json: JSON { get }
    var isEmpty: Bool { get }
}

extension DescribedAnswer {
    /// The code of a problem.
    public var code: String? { json["code"]?.string }
    /// The `reason` of an APNs error.
    public var reason: String? { json["reason"]?.string }
}

/// The answers that `/openapi.json` allows for each operation.
///
/// Tests compare all answers that they get with it, so that the service and its description stay equal.
public struct APIDescription: Sendable {
    public struct Operation: Sendable {
        public let method: String
        /// With parameters in braces.
        public let path: String
        let document: JSON

        public var name: String { "\(method) \(path)" }
        /// Whether every service has it; the tests of `ServiceKit` cover these operations.
        public var isCommon: Bool {
            let common = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/dead-letters", "/v1/parked/"]
            return common.contains { path.hasPrefix($0) }
        }
        public var takesDocument: Bool { document["requestBody"] != nil }
        /// Whether it needs a credential.
        public var needsCredential: Bool { document["security"]?.items?.isEmpty == false }
        /// The JSON Schema of its request document.
        public var requestSchema: JSON? { document["requestBody"]?["content"]?["application/json"]?["schema"] }
        /// The JSON Schema of a line of its request, if it takes lines.
        public var lineSchema: JSON? { document["requestBody"]?["content"]?["application/x-ndjson"]?["schema"] }
        /// Whether the answer may be an endless stream.
        public var isStream: Bool {
            responses.contains { $0.value["content"]?["text/event-stream"] != nil }
        }
        /// The names of its query parameters.
        public var queries: [String] {
            (document["parameters"]?.items ?? []).filter { $0["in"]?.string == "query" }.compactMap {
                $0["name"]?.string
            }
        }
        /// The names of its path parameters.
        public var places: [String] {
            path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        }

        /// The codes of all problems that it may return, and the reasons of APNs.
        public var errors: Set<String> { Set(responses.flatMap { APIDescription.errors($0.value) }) }

        private var responses: [JSON.Member] { document["responses"]?.members ?? [] }

        /// Returns the status of an error.
        func status(of error: String) -> Int? {
            responses.first { APIDescription.errors($0.value).contains(error) }.flatMap { Int($0.name) }
        }

        public func hasParameter(_ name: String) -> Bool {
            document["parameters"]?.items?.contains { $0["name"]?.string == name } ?? false
        }

        /// Whether a call is a call of this operation.
        public func isMeant(by method: String, _ path: String) -> Bool {
            let pattern = self.path.split(separator: "/")
            let parts = path.prefix { $0 != "?" }.split(separator: "/")
            return self.method == method && pattern.count == parts.count
                && zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }

        /// The path with its parameters replaced.
        public func path(_ values: [String: String]) -> String {
            let parts = path.split(separator: "/").map { part in
                part.hasPrefix("{") ? values[String(part.dropFirst().dropLast())] ?? "x" : String(part)
            }
            return "/" + parts.joined(separator: "/")
        }
    }

    public let operations: [Operation]

    /// - Parameter document: the answer of `/openapi.json`.
    public init(_ document: JSON) {
        operations = (document["paths"]?.members ?? []).flatMap { path in
            (path.value.members ?? []).map {
                Operation(method: $0.name.uppercased(), path: path.name, document: $0.value)
            }
        }
    }

    /// Returns the operation of a call.
    public func operation(_ method: String, _ path: String) -> Operation? {
        operations.first { $0.isMeant(by: method, path) }
    }

    /// Returns the undescribed part of an answer; nil if there is none, or if no operation is called.
    public func fault(of answer: any DescribedAnswer, to method: String, _ path: String) -> String? {
        guard let operation = operation(method, path) else { return nil }
        guard let described = operation.document["responses"]?[String(answer.status)] else {
            // A call of `/openapi.json` with If-None-Match.
            if answer.status == 304, method == "GET", answer.isEmpty { return nil }
            return "the status \(answer.status) is not described for \(operation.name)"
        }
        let media = answer.contentType
        let content = described["content"]?.members ?? []
        guard let form = content.first(where: { Self.media(media, is: $0.name) }) else {
            if content.isEmpty, answer.isEmpty { return nil }
            return "\(answer.status) with \(media ?? "no content type") is not described for \(operation.name)"
        }
        // The status and headers of GET, without its body.
        if method == "HEAD" { return answer.isEmpty ? nil : "an answer to HEAD has a body" }
        if form.name == "application/problem+json" || answer.status >= 400 {
            let word = answer.code ?? answer.reason ?? "without a code"
            guard Self.errors(described).contains(word) else {
                return "\(answer.status) \(word) is not described for \(operation.name)"
            }
            return nil
        }
        guard form.name == "application/json" else { return nil }
        return Self.fault(of: answer.json, as: form.value["schema"] ?? .null, at: "")
    }

    /// A multipart answer has a different boundary each time.
    private static func media(_ type: String?, is described: String) -> Bool {
        guard let type else { return false }
        return described == "*/*" || described == type
            || described.hasPrefix("multipart/") && type.hasPrefix(described + "; boundary=")
    }

    private static func errors(_ response: JSON) -> [String] {
        (response["content"]?.members ?? []).flatMap { form -> [String] in
            let schema = form.value["schema"] ?? .null
            let codes = schema["allOf"]?.items?.compactMap { $0["properties"]?["code"]?["enum"]?.items } ?? []
            let reasons = schema["properties"]?["reason"]?["enum"]?.items ?? []
            return (codes.flatMap(\.self) + reasons).compactMap(\.string)
        }
    }
}
