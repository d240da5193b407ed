public import Records

/// A value that a scenario file writes as one string, such as `10m` or `07:30±20m`.
public protocol TextValue: Value, Hashable, CustomStringConvertible {
    /// Parses the text; nil if it does not have the ``form``.
    init?(_ text: String)
    /// The form with examples, for error messages: "a duration such as 90s, 10m or 1h30m".
    static var form: String { get }
    /// The regular expression of the form, for the schema.
    static var pattern: String { get }
}

extension TextValue {
    public static var schema: JSON {
        ["type": "string", "pattern": .string("^(?:\(pattern))$"), "description": .string(form)]
    }
    public func write(to binary: inout BinaryWriter) { description.write(to: &binary) }
    public func write(to json: inout JSONWriter) { json.write(description) }

    public static func read(from binary: inout BinaryReader) -> Self {
        guard let value = Self(String.read(from: &binary)) else {
            binary.fail()
            return placeholder
        }
        return value
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? {
        guard let text = json.string, text.utf8.count <= 256, let value = Self(text) else {
            reader.fault("must be \(form)")
            return nil
        }
        return value
    }
}

/// Reads the parts of a text. Each method takes a part from the front, or leaves the text as it is and returns nil.
struct TextScanner {
    private(set) var rest: Substring

    init(_ text: String) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Takes the literal.
    mutating func take(_ literal: String) -> Bool {
        guard rest.hasPrefix(literal) else { return false }
        rest = rest.dropFirst(literal.count)
        return true
    }

    /// Takes at least one space.
    mutating func space() -> Bool {
        let isSpace = rest.first == " "
        rest = rest.drop { $0 == " " }
        return isSpace
    }

    /// Takes a number of at most nine ASCII digits.
    mutating func number(digits: ClosedRange<Int> = 1...9) -> Int? {
        let part = rest.prefix { ("0"..."9").contains($0) }
        guard digits.contains(part.utf8.count), part.utf8.count == part.count, let number = Int(part) else {
            return nil
        }
        rest = rest.dropFirst(part.count)
        return number
    }

    /// Takes a word up to the next space.
    mutating func word() -> Substring? {
        let part = rest.prefix { $0 != " " }
        guard !part.isEmpty else { return nil }
        rest = rest.dropFirst(part.count)
        return part
    }

    /// Takes a part that `parse` reads, or nothing.
    mutating func attempt<T>(_ parse: (inout TextScanner) -> T?) -> T? {
        let before = self
        if let value = parse(&self) { return value }
        self = before
        return nil
    }

    /// Parses the whole text.
    static func whole<T>(_ text: String, _ parse: (inout TextScanner) -> T?) -> T? {
        var scanner = TextScanner(text)
        guard let value = parse(&scanner), scanner.isAtEnd else { return nil }
        return value
    }
}
