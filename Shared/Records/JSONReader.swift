/// A fault of a document.
public struct FieldError: Error, Sendable, Equatable {
    /// JSON pointer (RFC 6901) into the document; empty for the document itself.
    public let pointer: String
    /// A message without secrets, for the client.
    public let detail: String

    public init(pointer: String, detail: String) {
        self.pointer = pointer
        self.detail = detail
    }
}

/// All faults of a document.
public struct DocumentError: Error, Sendable, Equatable, CustomStringConvertible {
    public let faults: [FieldError]

    public init(_ faults: [FieldError]) { self.faults = faults }

    public var description: String {
        faults.map { $0.pointer.isEmpty ? $0.detail : "\($0.pointer): \($0.detail)" }.joined(separator: "; ")
    }
}

/// Reads records from JSON and collects all faults.
///
/// Unknown members are faults unless the reader is lenient. Events are read leniently.
public struct JSONReader: FieldVisitor {
    /// The faults found so far.
    @inlinable public var faults: [FieldError] { found }
    @usableFromInline var found: [FieldError] = []
    private let isLenient: Bool
    @usableFromInline var path: [String] = []
    @usableFromInline var members: [JSON.Member] = []
    @usableFromInline var known: [String] = []

    /// Creates a reader. A lenient reader ignores unknown members.
    public init(lenient: Bool = false) { isLenient = lenient }

    /// Adds a fault at the current JSON pointer.
    public mutating func fault(_ detail: String) {
        found.append(FieldError(pointer: path.map { "/" + $0.pointerStep }.joined(), detail: detail))
    }

    /// Reads the value of a member or an item.
    @inlinable
    public mutating func descend<T: Value>(_ step: String, _ json: JSON, as type: T.Type = T.self) -> T? {
        path.append(step)
        defer { path.removeLast() }
        return T.read(json, &self)
    }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
    {
        known.append(name)
        guard let json = members.first(where: { $0.name == name })?.value else {
            if presence == .required {
                if let missing = T.ifMissing { value = missing } else { mark(name, "is required") }
            }
            return
        }
        guard let read = descend(name, json, as: T.self) else { return }
        if let rule, !rule.holds(read) { mark(name, rule.words) }
        value = read
    }

    @usableFromInline
    mutating func mark(_ name: String, _ detail: String) {
        path.append(name)
        fault(detail)
        path.removeLast()
    }

    /// Reads an object into a record.
    mutating func record<R: Record>(_ json: JSON) -> R? {
        guard case .object(let own) = json else {
            fault("must be an object, not \(json.kind)")
            return nil
        }
        let outer = (members, known)
        (members, known) = (own, [])
        let before = faults.count
        var record = R.placeholder
        record.visit(&self)
        if !isLenient {
            for member in own where !known.contains(member.name) { mark(member.name, "is not a known member") }
        }
        (members, known) = outer
        return faults.count == before ? record : nil
    }
}

extension String {
    /// The name of a member as a step of a JSON pointer (RFC 6901 section 3).
    package var pointerStep: String { replacing("~", with: "~0").replacing("/", with: "~1") }
}

extension Record {
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? { reader.record(json) }
}

extension Value {
    /// Reads the JSON form.
    ///
    /// - Parameter lenient: whether unknown members are ignored.
    /// - Throws: all faults of the document.
    public init(json: JSON, lenient: Bool = false) throws(DocumentError) {
        var reader = JSONReader(lenient: lenient)
        let value = Self.read(json, &reader)
        guard let value, reader.faults.isEmpty else { throw DocumentError(reader.faults) }
        self = value
    }

    /// Reads JSON text.
    public init(jsonBytes: some Collection<UInt8>, lenient: Bool = false) throws(DocumentError) {
        let json: JSON
        do { json = try JSON(parsing: jsonBytes) } catch {
            throw DocumentError([FieldError(pointer: "", detail: error.description)])
        }
        try self.init(json: json, lenient: lenient)
    }
}
