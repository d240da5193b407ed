import Records

/// What `/openapi.json` allows each operation to answer. All answers that the tests get are held to it, so that neither can drift
/// from the other.
struct Description: Sendable {
    struct Operation: Sendable {
        let method: String
        /// With parameters in braces.
        let path: String
        let document: JSON

        /// The words of all errors that it may answer: codes of problems, and APNs's reasons.
        var errors: Set<String> {
            Set((document["responses"]?.members ?? []).flatMap { Description.errors($0.value) })
        }
        var takesDocument: Bool { document["requestBody"] != nil }
        var name: String { "\(method) \(path)" }

        /// The path with its parameters replaced.
        func path(_ values: [String: String]) -> String {
            let parts = path.split(separator: "/").map { part in
                part.hasPrefix("{") ? values[String(part.dropFirst().dropLast())] ?? "x" : String(part)
            }
            return "/" + parts.joined(separator: "/")
        }
    }

    let operations: [Operation]

    init(_ document: JSON) {
        operations = (document["paths"]?.members ?? []).flatMap { path in
            (path.value.members ?? []).map {
                Operation(method: $0.name.uppercased(), path: path.name, document: $0.value)
            }
        }
    }

    /// The operation that a call is.
    func operation(_ method: String, _ path: String) -> Operation? {
        let parts = path.prefix { $0 != "?" }.split(separator: "/")
        return operations.first { operation in
            let pattern = operation.path.split(separator: "/")
            return operation.method == method && pattern.count == parts.count
                && zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
    }

    /// What is not described about an answer; nil where all is, and where nothing was asked that is described.
    func fault(of answer: PushSuite.Answer, to method: String, _ path: String) -> String? {
        guard let operation = operation(method, path) else { return nil }
        // An answer without a document that was asked for with If-None-Match.
        if answer.status == 304, method == "GET" { return nil }
        guard let described = operation.document["responses"]?[String(answer.status)] else {
            return "the status \(answer.status) is not described for \(operation.name)"
        }
        let media = answer.headers["content-type"]
        let content = described["content"]?.members ?? []
        guard let form = content.first(where: { $0.name == media }) else {
            if content.isEmpty, answer.isEmpty { return nil }
            return "\(answer.status) with \(media ?? "no content type") is not described for \(operation.name)"
        }
        if media == "application/problem+json" || answer.status >= 400 {
            let word = answer.code ?? answer.reason ?? "without a word"
            guard Self.errors(described).contains(word) else {
                return "\(answer.status) \(word) is not described for \(operation.name)"
            }
            return nil
        }
        guard media == "application/json" else { return nil }
        return Self.fault(of: answer.json, as: form.value["schema"] ?? .null, at: "")
    }

    private static func errors(_ response: JSON) -> [String] {
        (response["content"]?.members ?? []).flatMap { form -> [String] in
            let schema = form.value["schema"] ?? .null
            let codes = schema["allOf"]?.items?.compactMap { $0["properties"]?["code"]?["enum"]?.items } ?? []
            let reasons = schema["properties"]?["reason"]?["enum"]?.items ?? []
            return (codes.flatMap(\.self) + reasons).compactMap(\.string)
        }
    }

    /// Where a document departs from its schema: of JSON Schema, the words that the descriptions use.
    private static func fault(of json: JSON, as schema: JSON, at place: String) -> String? {
        if let choices = schema["anyOf"]?.items {
            let isOne = choices.contains { fault(of: json, as: $0, at: place) == nil }
            return isOne ? nil : "\(place) is none of what it may be"
        }
        if let type = schema["type"] {
            let types = type.items?.compactMap(\.string) ?? [type.string ?? ""]
            guard types.contains(where: { json.isOf(type: $0) }) else { return "\(place) is no \(types)" }
        }
        if let words = schema["enum"]?.items, !words.contains(json) { return "\(place) is none of its words" }
        for (index, item) in (json.items ?? []).enumerated() {
            guard let items = schema["items"] else { break }
            if let fault = fault(of: item, as: items, at: "\(place)/\(index)") { return fault }
        }
        if json.members != nil {
            let required = schema["required"]?.items?.compactMap(\.string) ?? []
            if let name = required.first(where: { json[$0] == nil }) { return "\(place)/\(name) is missing" }
        }
        for member in json.members ?? [] {
            let more = schema["additionalProperties"]
            let known = schema["properties"]?[member.name]
            if known == nil, more?.bool == false { return "\(place)/\(member.name) is not described" }
            guard let part = known ?? more, part.members != nil else { continue }
            if let fault = fault(of: member.value, as: part, at: "\(place)/\(member.name)") { return fault }
        }
        return nil
    }
}

extension JSON {
    fileprivate func isOf(type: String) -> Bool {
        switch (type, self) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("null", .null),
            ("integer", .int), ("number", .int), ("number", .double):
            true
        default: false
        }
    }
}
