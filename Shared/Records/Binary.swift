/// Writes the compact binary form: zigzag varints, length-prefixed strings, fields in the order of
/// ``Record/visit(_:)``.
///
/// The form contains no names and no version. The caller stores the version of the record beside it.
public struct BinaryWriter: FieldVisitor, Sendable {
    @inlinable public static var readsConstraints: Bool { false }
    @usableFromInline var buffer: [UInt8] = []
    /// The bytes written so far.
    @inlinable public var bytes: [UInt8] { buffer }

    public init() { buffer.reserveCapacity(512) }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
    {
        value.write(to: &self)
    }

    /// Appends a byte.
    @inlinable public mutating func append(_ byte: UInt8) { buffer.append(byte) }
    @inlinable
    public mutating func append(contentsOf more: some Collection<UInt8>) { buffer.append(contentsOf: more) }

    /// Removes all bytes, and keeps the memory.
    public mutating func removeAll() { buffer.removeAll(keepingCapacity: true) }

    /// Appends an unsigned LEB128 number.
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

/// Reads the output of ``BinaryWriter``. Malformed input sets ``isMalformed`` and returns placeholders. It never
/// traps.
public struct BinaryReader: FieldVisitor {
    @inlinable public static var readsConstraints: Bool { false }
    @usableFromInline let bytes: [UInt8]
    @usableFromInline var position = 0
    /// Whether the input read so far is malformed.
    @inlinable public var isMalformed: Bool { hasFailed }
    @usableFromInline var hasFailed = false

    /// Creates a reader at the start of the bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the whole input was read and is well-formed.
    public var isComplete: Bool { !isMalformed && position == bytes.count }

    @inlinable
    public mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?)
    {
        value = T.read(from: &self)
    }

    /// Marks the input as malformed.
    @inlinable public mutating func fail() { hasFailed = true }

    /// Reads a byte.
    @inlinable
    public mutating func byte() -> UInt8 {
        guard !isMalformed, position < bytes.count else {
            hasFailed = true
            return 0
        }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads an unsigned LEB128 number of at most 64 bits.
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

    /// Reads a count of elements of at least one byte each. A count above the number of remaining bytes is malformed.
    public mutating func count() -> Int {
        let value = varint()
        guard value <= UInt64(bytes.count - position) else {
            hasFailed = true
            return 0
        }
        return Int(value)
    }

    /// Reads the given number of bytes.
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

    /// Reads the compact binary form. Fails unless the bytes are exactly one value.
    public init?(binary bytes: [UInt8]) {
        var reader = BinaryReader(bytes)
        let record = Self.read(from: &reader)
        guard reader.isComplete else { return nil }
        self = record
    }
}
