/// Builds the JSON Schema of a record from its fields.
public struct SchemaBuilder: FieldVisitor {
    private var properties: [JSON.Member] = []
    private var required: [JSON] = []

    public init() {}

    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
    {
        var schema = T.schema
        if let rule, case .object(var members) = schema {
            // The keywords of a rule replace those of the type.
            members.removeAll { member in rule.keywords.contains { $0.0 == member.name } }
            members.append(contentsOf: rule.keywords.map { JSON.Member($0.0, $0.1) })
            schema = .object(members)
        }
        if presence == .defaulted, case .object(var members) = schema, let initial = try? JSON(parsing: value.jsonBytes)
        {
            members.append(JSON.Member("default", initial))
            schema = .object(members)
        }
        properties.append(JSON.Member(name, schema))
        if presence == .required, T.ifMissing == nil { required.append(.string(name)) }
    }

    /// The schema of an object with the visited fields and no others.
    public var schema: JSON {
        var members = [
            JSON.Member("type", "object"), JSON.Member("properties", .object(properties)),
            JSON.Member("additionalProperties", false),
        ]
        if !required.isEmpty { members.append(JSON.Member("required", .array(required))) }
        return .object(members)
    }
}

extension Record {
    public static var schema: JSON {
        var builder = SchemaBuilder()
        var record = placeholder
        record.visit(&builder)
        return builder.schema
    }
}
