public import OrderedCollections

extension Optional: Value where Wrapped: Value {
    @inlinable
    public static var placeholder: Wrapped? { nil }
    @inlinable
    public static var ifMissing: Wrapped?? { .some(nil) }
    @inlinable
    public var isAbsent: Bool { self == nil }

    public static var schema: JSON {
        guard case .object(var members) = Wrapped.schema else { return Wrapped.schema }
        guard let index = members.firstIndex(where: { $0.name == "type" }), members[index].value.string != nil else {
            return members.isEmpty ? [:] : ["anyOf": [.object(members), ["type": "null"]]]
        }
        members[index].value = .array([members[index].value, "null"])
        if let words = members.firstIndex(where: { $0.name == "enum" }), let items = members[words].value.items {
            members[words].value = .array(items + [.null])
        }
        return .object(members)
    }

    @inlinable
    public func write(to binary: inout BinaryWriter) {
        guard let self else { return binary.append(0) }
        binary.append(1)
        self.write(to: &binary)
    }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Wrapped? {
        Bool.read(from: &binary) ? Wrapped.read(from: &binary) : nil
    }

    @inlinable
    public func write(to json: inout JSONWriter) {
        guard let self else { return json.null() }
        self.write(to: &json)
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Wrapped?? {
        if json == .null { return .some(nil) }
        guard let value = Wrapped.read(json, &reader) else { return nil }
        return .some(value)
    }
}

extension Array: Value where Element: Value {
    @inlinable
    public static var placeholder: [Element] { [] }
    public static var schema: JSON { ["type": "array", "items": Element.schema] }

    @inlinable
    public func write(to binary: inout BinaryWriter) {
        binary.append(varint: UInt64(count))
        for element in self { element.write(to: &binary) }
    }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> [Element] {
        let count = binary.count()
        var elements: [Element] = []
        elements.reserveCapacity(Swift.min(count, 1024))
        for _ in 0..<count {
            elements.append(Element.read(from: &binary))
            if binary.isMalformed { return [] }
        }
        return elements
    }

    @inlinable
    public func write(to json: inout JSONWriter) { json.array(self) { $1.write(to: &$0) } }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> [Element]? {
        guard let items = json.items else { return reader.refuse("an array", json) }
        var elements: [Element] = []
        elements.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            if let element: Element = reader.descend(String(index), item) { elements.append(element) }
        }
        return elements.count == items.count ? elements : nil
    }
}

extension JSON {
    /// Returns the members sorted by the bytes of their names.
    @usableFromInline
    static func inOrder(_ members: [Member]) -> [Member] {
        func precedes(_ one: Member, _ other: Member) -> Bool {
            one.name.utf8.lexicographicallyPrecedes(other.name.utf8)
        }
        // Documents of the log are already sorted.
        guard zip(members.dropFirst(), members).contains(where: precedes) else { return members }
        return members.sorted(by: precedes)
    }
}

/// A map with string keys in insertion order. Its iteration order is equal on every machine, unlike that of
/// `Dictionary`.
///
/// The members of a JSON object have no order. A map that is read from JSON is sorted by the bytes of its names, which
/// is also the order of written JSON. An event from a client and its stored copy therefore lead to equal states.
extension OrderedDictionary: Records.Value where Key == String, Value: Records.Value {
    @inlinable
    public static var placeholder: Self { [:] }
    public static var schema: JSON { ["type": "object", "additionalProperties": Value.schema] }

    @inlinable
    public func write(to binary: inout BinaryWriter) {
        binary.append(varint: UInt64(count))
        for (key, value) in self {
            key.write(to: &binary)
            value.write(to: &binary)
        }
    }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Self {
        let count = binary.count()
        var map = Self()
        for _ in 0..<count {
            let key = String.read(from: &binary)
            let value = Value.read(from: &binary)
            if binary.isMalformed { return [:] }
            map[key] = value
        }
        return map
    }

    @inlinable
    public func write(to json: inout JSONWriter) {
        json.object { for (key, value) in self { $0.member(key) { value.write(to: &$0) } } }
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? {
        guard let members = json.members else { return reader.refuse("an object", json) }
        var map = Self()
        for member in JSON.inOrder(members) {
            if let value: Value = reader.descend(member.name, member.value) { map[member.name] = value }
        }
        return map.count == members.count ? map : nil
    }
}
