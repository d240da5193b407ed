/// Writes the compact binary form: zigzag varints, length-prefixed strings, fields in the order of ``Record/visit(_:)``.
///
/// The form has no names and no versions: whoever stores it stores the version of its writer beside it.
public struct BinaryWriter: FieldVisitor {
    @inlinable public static var readsRules: Bool { false }
    @usableFromInline var buffer: [UInt8] = []
    @inlinable public var bytes: [UInt8] { buffer }

    public init() { buffer.reserveCapacity(512) }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Rule<T>?) {
        value.write(to: &self)
    }

    @inlinable public mutating func append(_ byte: UInt8) { buffer.append(byte) }
    @inlinable
    public mutating func append(contentsOf more: some Collection<UInt8>) { buffer.append(contentsOf: more) }

    @inlinable
    public mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            buffer.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        buffer.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Reads what ``BinaryWriter`` wrote. Malformed input sets ``isMalformed`` and gives placeholders; it never traps.
public struct BinaryReader: FieldVisitor {
    @inlinable public static var readsRules: Bool { false }
    @usableFromInline let bytes: [UInt8]
    @usableFromInline var position = 0
    /// True once anything read was not what a writer writes.
    @inlinable public var isMalformed: Bool { hasFailed }
    @usableFromInline var hasFailed = false

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// True when everything was read and well-formed.
    public var isComplete: Bool { !isMalformed && position == bytes.count }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Rule<T>?) {
        value = T.read(from: &self)
    }

    @inlinable public mutating func fail() { hasFailed = true }

    @inlinable
    public mutating func byte() -> UInt8 {
        guard !isMalformed, position < bytes.count else {
            hasFailed = true
            return 0
        }
        defer { position += 1 }
        return bytes[position]
    }

    @inlinable
    public mutating func varint() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = byte()
            if isMalformed || shift > 63 {
                hasFailed = true
                return 0
            }
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
            shift += 7
        }
    }

    /// A count of things that each take at least one byte, so that a malformed count can't ask for more than is there.
    public mutating func count() -> Int {
        let value = varint()
        guard value <= UInt64(bytes.count - position) else {
            hasFailed = true
            return 0
        }
        return Int(value)
    }

    public mutating func slice(_ length: Int) -> ArraySlice<UInt8> {
        guard !isMalformed, length >= 0, length <= bytes.count - position else {
            hasFailed = true
            return []
        }
        defer { position += length }
        return bytes[position..<position + length]
    }
}

extension Record {
    @inlinable
    public func write(to binary: inout BinaryWriter) {
        var copy = self
        copy.visit(&binary)
    }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Self {
        var record = placeholder
        record.visit(&binary)
        return record
    }

    /// The compact binary form.
    @inlinable public var binary: [UInt8] {
        var writer = BinaryWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Reads the compact binary form; nil when it is not exactly one value.
    public init?(binary bytes: [UInt8]) {
        var reader = BinaryReader(bytes)
        let record = Self.read(from: &reader)
        guard reader.isComplete else { return nil }
        self = record
    }
}
