/// A JSON document (RFC 8259) as a tree. Objects keep the order of their members, and equality depends on it.
public enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// A member of an object.
    public struct Member: Sendable, Equatable {
        public var name: String
        public var value: JSON

        public init(_ name: String, _ value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an object with the given members.
    public static func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
        .object(members.map { Member($0.key, $0.value) })
    }

    /// The member with the name; nil if the value is not an object or has no such member.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The item at the index; nil if the value is not an array or has no such item.
    public subscript(_ index: Int) -> JSON? {
        guard case .array(let items) = self, items.indices.contains(index) else { return nil }
        return items[index]
    }

    /// The string; nil for another kind.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The whole number; nil for another kind or a number that is not an `Int`.
    public var int: Int? {
        switch self {
        case .int(let number): number
        case .double(let number): Int(exactly: number)
        default: nil
        }
    }

    /// The number; nil for another kind.
    public var double: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The Boolean; nil for another kind.
    public var bool: Bool? {
        if case .bool(let truth) = self { truth } else { nil }
    }

    /// The items of an array; nil for another kind.
    public var items: [JSON]? {
        if case .array(let items) = self { items } else { nil }
    }

    /// The members of an object; nil for another kind.
    public var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The kind of the value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .int, .double: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The JSON text in UTF-8, with members sorted by name.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member($0.0, $0.1) }) }
}

extension JSON: Value {
    public static var placeholder: JSON { .null }
    public static var schema: JSON { .object([Member]()) }

    public func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let truth): json.write(truth)
        case .int(let number): json.write(number)
        case .double(let number): json.write(number)
        case .string(let text): json.write(text)
        case .array(let items): json.array(items) { $1.write(to: &$0) }
        case .object(let members):
            json.object { for member in members { $0.member(member.name) { member.value.write(to: &$0) } } }
        }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> JSON? { json }

    public func write(to binary: inout BinaryWriter) {
        let text = bytes
        binary.append(varint: UInt64(text.count))
        binary.append(contentsOf: text)
    }

    public static func read(from binary: inout BinaryReader) -> JSON {
        let text = Array(binary.slice(binary.count()))
        guard !binary.isMalformed, let json = try? JSON(parsing: text) else {
            binary.fail()
            return .null
        }
        return json
    }
}
