/// A value with a JSON form, a compact binary form and a JSON Schema.
///
/// Simple values (numbers, strings, instants) conform directly. Structures conform through ``Record``.
public protocol Value: Sendable {
    /// A neutral value, used at the start of decoding and after a failure.
    static var placeholder: Self { get }

    /// Appends the compact binary form.
    func write(to binary: inout BinaryWriter)
    /// Reads the compact binary form. Malformed input sets `binary.isMalformed`.
    static func read(from binary: inout BinaryReader) -> Self

    /// Appends the JSON form, with the members of objects sorted by name.
    func write(to json: inout JSONWriter)
    /// Reads the JSON form. Adds every fault to `reader` with its JSON pointer, and returns nil if there is one.
    static func read(_ json: JSON, _ reader: inout JSONReader) -> Self?

    /// The JSON Schema (draft 2020-12) of the JSON form.
    static var schema: JSON { get }

    /// Whether the value is `nil`. Omittable fields leave it out.
    var isAbsent: Bool { get }
    /// The value of a missing JSON member; nil if the member is required.
    static var ifMissing: Self? { get }
}

extension Value {
    @inlinable public var isAbsent: Bool { false }
    @inlinable public static var ifMissing: Self? { nil }
}

/// A structure whose stored properties are its fields. They determine its JSON, binary form, validation and schema.
///
/// `RecordGenerator` writes the initializer, the placeholder and ``visit(_:)`` of each record from its declaration.
/// The order of the properties is the order of the binary form. A record that declares `visit` itself must always
/// visit the same fields in the same order, whatever their values.
public protocol Record: Value {
    /// Visits all fields in their order.
    mutating func visit<V: FieldVisitor>(_ fields: inout V)
}

/// An optional property that JSON contains as `null` if it is nil. JSON omits other optional properties that are nil.
public typealias Nullable<Wrapped: Value> = Wrapped?
/// A property that JSON may omit. It then has its initial value.
public typealias Defaulted<T: Value> = T
/// A record whose fields are members of the enclosing JSON object.
public typealias Flattened<R: Record> = R

/// A visitor of the fields of a ``Record``.
public protocol FieldVisitor {
    /// Whether the visitor uses the rules. Rules contain closures, and their creation costs more than writing a field.
    static var readsConstraints: Bool { get }
    /// Visits a field.
    mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
}

/// Whether a JSON member is required.
public enum Presence: Sendable {
    /// Always written. Required in input unless the type has ``Value/ifMissing``, as optionals do.
    case required
    /// Always written. If it is missing in input, the field has its initial value.
    case defaulted
    /// Omitted if `nil`. Optional in input.
    case optional
}

extension FieldVisitor {
    /// Visits a required field. Optionals are written as `null` and may be missing in input.
    @inlinable
    public mutating func field<T: Value>(_ name: String, _ value: inout T) { visit(name, &value, .required, nil) }
    /// Visits a required field and checks a rule in input.
    @inlinable
    public mutating func field<T: Value>(_ name: String, _ value: inout T, _ rule: @autoclosure () -> Constraint<T>) {
        visit(name, &value, .required, constraintIfNeeded(rule))
    }
    /// Visits a field that may be missing in input. It then has its initial value.
    @inlinable
    public mutating func defaulted<T: Value>(_ name: String, _ value: inout T) { visit(name, &value, .defaulted, nil) }
    /// Visits a field that may be missing in input, and checks a rule.
    @inlinable
    public mutating func defaulted<T: Value>(_ name: String, _ value: inout T, _ rule: @autoclosure () -> Constraint<T>)
    {
        visit(name, &value, .defaulted, constraintIfNeeded(rule))
    }
    /// Visits an optional field that is omitted if it is nil.
    @inlinable
    public mutating func optional<T: Value>(_ name: String, _ value: inout T?) { visit(name, &value, .optional, nil) }

    /// Visits an optional field that is omitted if it is nil, and checks a rule in input unless it is nil.
    @inlinable
    public mutating func optional<T: Value>(_ name: String, _ value: inout T?, _ rule: @autoclosure () -> Constraint<T>)
    {
        visit(name, &value, .optional, constraintIfNeeded { .ifPresent(rule()) })
    }

    @inlinable public static var readsConstraints: Bool { true }

    @inlinable
    func constraintIfNeeded<T>(_ rule: () -> Constraint<T>) -> Constraint<T>? { Self.readsConstraints ? rule() : nil }
}

/// A check of a field in input, with its message and its JSON Schema keywords.
public struct Constraint<T: Value>: Sendable {
    /// The message, which begins with "must".
    public let words: String
    /// The JSON Schema keywords of the check.
    public let keywords: [(String, JSON)]
    /// Returns whether a value conforms.
    public let holds: @Sendable (T) -> Bool

    public init(_ words: String, keywords: [(String, JSON)] = [], _ holds: @escaping @Sendable (T) -> Bool) {
        self.words = words
        self.keywords = keywords
        self.holds = holds
    }
}

extension Constraint where T == Int {
    /// A number in a range.
    public static func range(_ range: ClosedRange<Int>) -> Constraint<Int> {
        Constraint(
            "must be from \(range.lowerBound) to \(range.upperBound)",
            keywords: [("minimum", .int(range.lowerBound)), ("maximum", .int(range.upperBound))]
        ) { range.contains($0) }
    }
}

extension Constraint where T == Double {
    /// A number in a range.
    public static func range(_ range: ClosedRange<Double>) -> Constraint<Double> {
        Constraint(
            "must be from \(range.lowerBound) to \(range.upperBound)",
            keywords: [("minimum", .double(range.lowerBound)), ("maximum", .double(range.upperBound))]
        ) { range.contains($0) }
    }
}

extension Constraint where T == String {
    /// A length in Unicode scalars, as in JSON Schema. Control characters are not allowed.
    public static func text(_ lengths: ClosedRange<Int>) -> Constraint<String> {
        Constraint(
            "must have from \(lengths.lowerBound) to \(lengths.upperBound) characters, and no control characters",
            keywords: [
                ("minLength", .int(lengths.lowerBound)), ("maxLength", .int(lengths.upperBound)),
                ("pattern", #"^[^\u0000-\u001F\u007F]*$"#),
            ]
        ) { lengths.contains($0.unicodeScalars.count) && !$0.utf8.contains { $0 < 0x20 || $0 == 0x7F } }
    }

    /// An identifier: `[A-Za-z0-9._:-]{1,128}`.
    public static var identifier: Constraint<String> {
        Constraint(
            "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -",
            keywords: [("pattern", .string("^[A-Za-z0-9._:-]{1,128}$"))]
        ) { isIdentifier($0) }
    }
}

extension Constraint {
    /// A number of elements.
    public static func count<E: Value>(_ counts: ClosedRange<Int>) -> Constraint<[E]> where T == [E] {
        Constraint(
            "must have from \(counts.lowerBound) to \(counts.upperBound) items",
            keywords: [("minItems", .int(counts.lowerBound)), ("maxItems", .int(counts.upperBound))]
        ) { counts.contains($0.count) }
    }

    /// Applies a rule to an optional. Nil conforms.
    public static func ifPresent<W: Value>(_ rule: Constraint<W>) -> Constraint<W?> where T == W? {
        Constraint(rule.words, keywords: rule.keywords) { $0.map(rule.holds) ?? true }
    }
}

/// Returns whether the text matches `[A-Za-z0-9._:-]{1,128}`, the syntax of identifiers in paths and documents.
public func isIdentifier(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    return (1...128).contains(bytes.count)
        && bytes.allSatisfy { byte in
            (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2E || byte == 0x5F || byte == 0x2D
        }
}
