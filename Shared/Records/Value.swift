/// A value that can be written as JSON and as compact binary, and that can describe itself as a JSON Schema.
///
/// Leaves (numbers, strings, instants) conform directly; composites conform through ``Record``.
public protocol Value: Sendable {
    /// A neutral value, used as the start of decoding and where decoding failed.
    static var placeholder: Self { get }

    /// Appends the compact binary form.
    func write(to binary: inout BinaryWriter)
    /// Reads what ``write(to:)-(BinaryWriter)`` wrote. Sets `binary.isMalformed` instead of throwing.
    static func read(from binary: inout BinaryReader) -> Self

    /// Appends the JSON form; object members in ascending order of their names.
    func write(to json: inout JSONWriter)
    /// Reads the JSON form. Every fault is added to `reader` with its JSON pointer; nil where there was one.
    static func read(_ json: JSON, _ reader: inout JSONReader) -> Self?

    /// The JSON Schema (draft 2020-12) of the JSON form.
    static var schema: JSON { get }

    /// True for values that stand for "nothing here": `nil` alone. Omittable fields leave those out.
    var isAbsent: Bool { get }
    /// What a missing JSON member means; nil where the member is required.
    static var ifMissing: Self? { get }
}

extension Value {
    @inlinable public var isAbsent: Bool { false }
    @inlinable public static var ifMissing: Self? { nil }
}

/// A structure whose stored properties are its fields. JSON, the binary form, validation and the schema follow from them.
///
/// `RecordGenerator` writes the initializer, the placeholder and ``visit(_:)`` of each record from its declaration. The order of
/// the properties is the order of the binary form. A record that declares `visit` itself must visit the same fields in the same
/// order every time, whatever their values.
public protocol Record: Value {
    mutating func visit<V: FieldVisitor>(_ fields: inout V)
}

/// An optional property that JSON always has: as `null` where it is nil. JSON omits other optional properties that are nil.
public typealias Nullable<Wrapped: Value> = Wrapped?
/// A property that JSON may omit. It then has its initial value.
public typealias Defaulted<T: Value> = T
/// A record whose fields are members of the JSON object around it.
public typealias Flattened<R: Record> = R

/// A visitor of the fields of a ``Record``.
public protocol FieldVisitor {
    /// False for visitors that look at no rule: rules hold closures, and making them costs more than writing a field.
    static var readsRules: Bool { get }
    mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Rule<T>?)
}

/// Whether a JSON member has to be there.
public enum Presence: Sendable {
    /// Always written; required on the way in, unless the type has an ``Value/ifMissing`` (as optionals do).
    case required
    /// Always written; where it is missing on the way in, the value that `init()` gave stays.
    case defaulted
    /// Left out where absent (`nil`); may be missing on the way in.
    case omittable
}

extension FieldVisitor {
    /// A required field. Optionals are written as `null` and may be missing on the way in.
    @inlinable
    public mutating func field<T: Value>(_ name: String, _ value: inout T) { visit(name, &value, .required, nil) }
    /// A required field that is held to a rule on the way in.
    @inlinable
    public mutating func field<T: Value>(_ name: String, _ value: inout T, _ rule: @autoclosure () -> Rule<T>) {
        visit(name, &value, .required, ruleIfNeeded(rule))
    }
    /// A field that may be missing; it then keeps the value of `init()`.
    @inlinable
    public mutating func defaulted<T: Value>(_ name: String, _ value: inout T) { visit(name, &value, .defaulted, nil) }
    @inlinable
    public mutating func defaulted<T: Value>(_ name: String, _ value: inout T, _ rule: @autoclosure () -> Rule<T>) {
        visit(name, &value, .defaulted, ruleIfNeeded(rule))
    }
    /// An optional field that is left out where it is nil.
    @inlinable
    public mutating func omittable<T: Value>(_ name: String, _ value: inout T?) { visit(name, &value, .omittable, nil) }

    /// The same, held to a rule where there is a value.
    @inlinable
    public mutating func omittable<T: Value>(_ name: String, _ value: inout T?, _ rule: @autoclosure () -> Rule<T>) {
        visit(name, &value, .omittable, ruleIfNeeded { .ifPresent(rule()) })
    }

    @inlinable public static var readsRules: Bool { true }

    @inlinable
    func ruleIfNeeded<T>(_ rule: () -> Rule<T>) -> Rule<T>? { Self.readsRules ? rule() : nil }
}

/// A check of one field on the way in, with its words for people and its JSON Schema keywords.
public struct Rule<T: Value>: Sendable {
    /// Completes "must …".
    public let words: String
    public let keywords: [(String, JSON)]
    public let holds: @Sendable (T) -> Bool

    public init(_ words: String, keywords: [(String, JSON)] = [], _ holds: @escaping @Sendable (T) -> Bool) {
        self.words = words
        self.keywords = keywords
        self.holds = holds
    }
}

extension Rule where T == Int {
    public static func range(_ range: ClosedRange<Int>) -> Rule<Int> {
        Rule(
            "must be from \(range.lowerBound) to \(range.upperBound)",
            keywords: [("minimum", .int(range.lowerBound)), ("maximum", .int(range.upperBound))]
        ) { range.contains($0) }
    }
}

extension Rule where T == Double {
    public static func range(_ range: ClosedRange<Double>) -> Rule<Double> {
        Rule(
            "must be from \(range.lowerBound) to \(range.upperBound)",
            keywords: [("minimum", .double(range.lowerBound)), ("maximum", .double(range.upperBound))]
        ) { range.contains($0) }
    }
}

extension Rule where T == String {
    /// A length in Unicode scalars, as JSON Schema counts; control characters are refused.
    public static func text(_ lengths: ClosedRange<Int>) -> Rule<String> {
        Rule(
            "must have from \(lengths.lowerBound) to \(lengths.upperBound) characters, and no control characters",
            keywords: [
                ("minLength", .int(lengths.lowerBound)), ("maxLength", .int(lengths.upperBound)),
                ("pattern", #"^[^\u0000-\u001F\u007F]*$"#),
            ]
        ) { lengths.contains($0.unicodeScalars.count) && !$0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
    }

    /// An identifier: `[A-Za-z0-9._:-]{1,128}`.
    public static var identifier: Rule<String> {
        Rule(
            "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -",
            keywords: [("pattern", .string("^[A-Za-z0-9._:-]{1,128}$"))]
        ) { isIdentifier($0) }
    }
}

extension Rule {
    /// A number of elements.
    public static func count<E: Value>(_ counts: ClosedRange<Int>) -> Rule<[E]> where T == [E] {
        Rule(
            "must have from \(counts.lowerBound) to \(counts.upperBound) items",
            keywords: [("minItems", .int(counts.lowerBound)), ("maxItems", .int(counts.upperBound))]
        ) { counts.contains($0.count) }
    }

    /// The same rule where there is a value; nil passes.
    public static func ifPresent<W: Value>(_ rule: Rule<W>) -> Rule<W?> where T == W? {
        Rule(rule.words, keywords: rule.keywords) { $0.map(rule.holds) ?? true }
    }
}

/// True for `[A-Za-z0-9._:-]{1,128}`, the syntax of every identifier that arrives in a path or a document.
public func isIdentifier(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    return (1...128).contains(bytes.count)
        && bytes.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2E || byte == 0x5F || byte == 0x2D
        }
}
