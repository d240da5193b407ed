/// Writes JSON text whose object members stand in ascending order of their names (by UTF-8 bytes), whatever the order in which
/// they were told: equal values give equal bytes.
public struct JSONWriter: FieldVisitor {
    public private(set) var bytes: [UInt8] = []
    /// The members of the object that is being written: name and the range of `"name":value` in `bytes`.
    private var members: [(name: String, range: Range<Int>)] = []
    private var isSorted = true

    public init() { bytes.reserveCapacity(256) }

    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Rule<T>?) {
        if presence == .omittable, value.isAbsent { return }
        member(name) { [value] in value.write(to: &$0) }
    }

    /// Writes an object; `body` tells its members.
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        let outer = (members, isSorted)
        members.removeAll()
        isSorted = true
        bytes.append(UInt8(ascii: "{"))
        let start = bytes.count
        body(&self)
        if !isSorted { sortMembers(from: start) }
        bytes.append(UInt8(ascii: "}"))
        (members, isSorted) = outer
    }

    /// Writes one member of the object that is under way.
    public mutating func member(_ name: String, _ value: (inout JSONWriter) -> Void) {
        if let last = members.last {
            bytes.append(UInt8(ascii: ","))
            if !last.name.utf8.lexicographicallyPrecedes(name.utf8) { isSorted = false }
        }
        let start = bytes.count
        write(name)
        bytes.append(UInt8(ascii: ":"))
        value(&self)
        members.append((name, start..<bytes.count))
    }

    private mutating func sortMembers(from start: Int) {
        let written = Array(bytes[start...])
        bytes.removeSubrange(start...)
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (index, member) in sorted.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: written[member.range.lowerBound - start..<member.range.upperBound - start])
        }
    }

    /// Writes an array.
    public mutating func array<S: Sequence>(_ items: S, _ write: (inout JSONWriter, S.Element) -> Void) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for item in items {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, item)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    public mutating func null() { bytes.append(contentsOf: "null".utf8) }
    public mutating func write(_ truth: Bool) { bytes.append(contentsOf: truth ? "true".utf8 : "false".utf8) }
    public mutating func write(_ number: Int) { bytes.append(contentsOf: String(number).utf8) }

    /// The shortest text that reads back as the same number; JSON has no infinities and no NaN, so these become null.
    public mutating func write(_ number: Double) {
        guard number.isFinite else { return null() }
        if let whole = Int(exactly: number), abs(whole) < 1 << 53 {
            write(whole)
        } else {
            bytes.append(contentsOf: number.description.utf8)
        }
    }

    public mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
            case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
            case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
            case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
            case 0..<0x20, 0x7F:
                bytes.append(contentsOf: #"\u00"#.utf8)
                bytes.append(Self.hexadecimal[Int(byte >> 4)])
                bytes.append(Self.hexadecimal[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends text that is JSON already.
    public mutating func append(raw json: some Sequence<UInt8>) { bytes.append(contentsOf: json) }

    private static let hexadecimal = Array("0123456789abcdef".utf8)
}

extension Value {
    /// The JSON text, UTF-8, members sorted by name.
    public var jsonBytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Record {
    public func write(to json: inout JSONWriter) {
        var copy = self
        json.object { copy.visit(&$0) }
    }
}
