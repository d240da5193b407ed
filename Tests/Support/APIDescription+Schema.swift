import Records

extension APIDescription {
    /// Returns the first difference between a document and its schema, by the JSON Schema keywords that the
    /// descriptions use.
    static func fault(of json: JSON, as schema: JSON, at place: String) -> String? {
        if let choices = schema["anyOf"]?.items {
            let isOne = choices.contains { fault(of: json, as: $0, at: place) == nil }
            return isOne ? nil : "\(place) matches no schema of anyOf"
        }
        if let type = schema["type"] {
            let types = type.items?.compactMap(\.string) ?? [type.string ?? ""]
            guard types.contains(where: { json.isOf(type: $0) }) else { return "\(place) is not of type \(types)" }
        }
        if let words = schema["enum"]?.items, !words.contains(json) { return "\(place) is not in its enum" }
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
