/// Writes JSON text. Object members are sorted by the UTF-8 bytes of their names, so equal values have equal bytes.
public struct JSONWriter: FieldVisitor {
    @inlinable public static var readsConstraints: Bool { false }
    /// The JSON text written so far, in UTF-8.
    @inlinable public var bytes: [UInt8] { buffer }
    @usableFromInline var buffer: [UInt8] = []
    /// The members of the current object: the name and the range of `"name":value` in `buffer`.
    @usableFromInline var members: [(name: String, range: Range<Int>)] = []
    @usableFromInline var isSorted = true

    public init() { buffer.reserveCapacity(256) }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
    {
        if presence == .optional, value.isAbsent { return }
        member(name) { [value] in value.write(to: &$0) }
    }

    /// Writes an object. `body` writes its members.
    @inlinable
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        let outer = (members, isSorted)
        members.removeAll()
        isSorted = true
        buffer.append(UInt8(ascii: "{"))
        let start = buffer.count
        body(&self)
        if !isSorted { sortMembers(from: start) }
        buffer.append(UInt8(ascii: "}"))
        (members, isSorted) = outer
    }

    /// Writes a member of the current object.
    @inlinable
    public mutating func member(_ name: String, _ value: (inout JSONWriter) -> Void) {
        if let last = members.last {
            buffer.append(UInt8(ascii: ","))
            if !last.name.utf8.lexicographicallyPrecedes(name.utf8) { isSorted = false }
        }
        let start = buffer.count
        write(name)
        buffer.append(UInt8(ascii: ":"))
        value(&self)
        members.append((name, start..<buffer.count))
    }

    @usableFromInline
    mutating func sortMembers(from start: Int) {
        let written = Array(buffer[start...])
        buffer.removeSubrange(start...)
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (index, member) in sorted.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(contentsOf: written[member.range.lowerBound - start..<member.range.upperBound - start])
        }
    }

    /// Writes an array.
    @inlinable
    public mutating func array<S: Sequence>(_ items: S, _ write: (inout JSONWriter, S.Element) -> Void) {
        buffer.append(UInt8(ascii: "["))
        var isFirst = true
        for item in items {
            if !isFirst { buffer.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, item)
        }
        buffer.append(UInt8(ascii: "]"))
    }

    /// Writes `null`.
    public mutating func null() { buffer.append(contentsOf: "null".utf8) }
    public mutating func write(_ truth: Bool) { buffer.append(contentsOf: truth ? "true".utf8 : "false".utf8) }
    public mutating func write(_ number: Int) { buffer.append(contentsOf: String(number).utf8) }

    /// Writes the shortest text that reads back as the number. Infinities and NaN become null, because JSON lacks
    /// them.
    public mutating func write(_ number: Double) {
        guard number.isFinite else { return null() }
        if let whole = Int(exactly: number), whole.magnitude < 1 << 53 {
            write(whole)
        } else {
            buffer.append(contentsOf: number.description.utf8)
        }
    }

    public mutating func write(_ text: String) {
        buffer.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): buffer.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): buffer.append(contentsOf: #"\\"#.utf8)
            case 0x0A: buffer.append(contentsOf: #"\n"#.utf8)
            case 0x0D: buffer.append(contentsOf: #"\r"#.utf8)
            case 0x09: buffer.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20, 0x7F:
                buffer.append(contentsOf: #"\u00"#.utf8)
                buffer.append(Self.hexadecimal[Int(byte >> 4)])
                buffer.append(Self.hexadecimal[Int(byte & 15)])
            default: buffer.append(byte)
            }
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// Appends JSON text.
    public mutating func append(raw json: some Sequence<UInt8>) { buffer.append(contentsOf: json) }

    private static let hexadecimal = Array("0123456789abcdef".utf8)
}

extension Value {
    /// The JSON text in UTF-8, with members sorted by name.
    @inlinable public var jsonBytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Record {
    @inlinable
    public func write(to json: inout JSONWriter) {
        var copy = self
        json.object { copy.visit(&$0) }
    }
}
