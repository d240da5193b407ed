import Records
import TestSupport

/// Makes documents that a JSON Schema allows, from the words of the suite's descriptions.
struct SchemaDocument {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func make(_ schema: JSON) -> JSON {
        if let words = schema["enum"]?.items, let word = words.randomElement(using: &random) { return word }
        if let choices = schema["anyOf"]?.items ?? schema["oneOf"]?.items,
            let choice = choices.randomElement(using: &random)
        {
            return make(choice)
        }
        let types = schema["type"]?.items?.compactMap(\.string) ?? [schema["type"]?.string ?? "any"]
        switch types.randomElement(using: &random) ?? "any" {
        case "object": return object(schema)
        case "array":
            guard let items = schema["items"], Bool.random(using: &random) else { return .array([]) }
            return .array([make(items)])
        case "string": return string(schema)
        case "integer", "number": return .int(schema["minimum"]?.int ?? Int.random(in: 0...100, using: &random))
        case "boolean": return .bool(Bool.random(using: &random))
        case "null": return .null
        default: return ["a": 1]
        }
    }

    private mutating func object(_ schema: JSON) -> JSON {
        let required = Set(schema["required"]?.items?.compactMap(\.string) ?? [])
        var members: [JSON.Member] = []
        for member in schema["properties"]?.members ?? [] {
            guard required.contains(member.name) || Int.random(in: 0..<3, using: &random) > 0 else { continue }
            members.append(JSON.Member(member.name, make(member.value)))
        }
        return .object(members)
    }

    private mutating func string(_ schema: JSON) -> JSON {
        guard schema["format"]?.string != "date-time" else { return "2026-11-21T07:40:00.000Z" }
        return .string(["a", "clean", "s", "http://127.0.0.1:1/a"].randomElement(using: &random) ?? "a")
    }
}
