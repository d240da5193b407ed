public import Records

extension JSON {
    /// Creates a document of a JSON Schema with all its members: the first value of each enumeration, the least of each
    /// number.
    public init(sampleOf schema: JSON) {
        if let choice = schema["anyOf"]?.items?.first {
            self.init(sampleOf: choice)
        } else if let word = schema["enum"]?.items?.first {
            self = word
        } else {
            switch schema["type"]?.items?.first?.string ?? schema["type"]?.string {
            case "object":
                let members = schema["properties"]?.members ?? []
                self = .object(members.map { Member($0.name, JSON(sampleOf: $0.value)) })
            case "array": self = .array(schema["items"].map { [JSON(sampleOf: $0)] } ?? [])
            case "boolean": self = true
            case "integer": self = schema["minimum"] ?? 1
            case "number": self = schema["minimum"] ?? .double(0.5)
            case "string": self = schema["format"]?.string == "date-time" ? "2026-11-21T07:40:00.000Z" : "sample-1"
            default: self = [:]
            }
        }
    }
}
