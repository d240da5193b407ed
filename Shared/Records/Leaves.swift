extension Bool: Value {
    @inlinable
    public static var placeholder: Bool { false }
    public static var schema: JSON { ["type": "boolean"] }
    @inlinable
    public func write(to binary: inout BinaryWriter) { binary.append(self ? 1 : 0) }
    @inlinable
    public func write(to json: inout JSONWriter) { json.write(self) }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Bool {
        let byte = binary.byte()
        if byte > 1 { binary.fail() }
        return byte == 1
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Bool? {
        guard let truth = json.bool else { return reader.refuse("true or false", json) }
        return truth
    }
}

extension Int: Value {
    @inlinable
    public static var placeholder: Int { 0 }
    public static var schema: JSON { ["type": "integer"] }
    @inlinable
    public func write(to binary: inout BinaryWriter) {
        binary.append(varint: UInt64(bitPattern: Int64((self << 1) ^ (self >> 63))))
    }
    @inlinable
    public func write(to json: inout JSONWriter) { json.write(self) }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Int {
        let raw = binary.varint()
        return Int(bitPattern: UInt(raw >> 1)) ^ -Int(bitPattern: UInt(raw & 1))
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Int? {
        guard let number = json.int else { return reader.refuse("a whole number", json) }
        return number
    }
}

extension Double: Value {
    @inlinable
    public static var placeholder: Double { 0 }
    public static var schema: JSON { ["type": "number"] }
    @inlinable
    public func write(to binary: inout BinaryWriter) {
        // Written JSON has no negative zero, so the binary form has none either.
        let pattern = self == 0 ? 0 : bitPattern
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            binary.append(UInt8(truncatingIfNeeded: pattern >> shift))
        }
    }
    @inlinable
    public func write(to json: inout JSONWriter) { json.write(self) }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Double {
        var pattern: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { pattern |= UInt64(binary.byte()) << shift }
        return Double(bitPattern: pattern)
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Double? {
        guard let number = json.double else { return reader.refuse("a number", json) }
        return number
    }
}

extension String: Value {
    @inlinable
    public static var placeholder: String { "" }
    public static var schema: JSON { ["type": "string"] }
    @inlinable
    public func write(to binary: inout BinaryWriter) {
        binary.append(varint: UInt64(utf8.count))
        binary.append(contentsOf: utf8)
    }
    @inlinable
    public func write(to json: inout JSONWriter) { json.write(self) }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> String {
        let length = binary.count()
        guard let text = String(validating: binary.slice(length), as: UTF8.self) else {
            binary.fail()
            return ""
        }
        return text
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> String? {
        guard let text = json.string else { return reader.refuse("a string", json) }
        // The type `text` of PostgreSQL can't contain U+0000.
        guard !text.utf8.contains(0) else {
            reader.fault("must not contain U+0000")
            return nil
        }
        return text
    }
}

extension JSONReader {
    @usableFromInline
    mutating func refuse<T>(_ wanted: String, _ json: JSON) -> T? {
        fault("must be \(wanted), not \(json.kind)")
        return nil
    }
}

/// An enumeration of strings. It is a string in JSON and one byte, the index in `allCases`, in the binary form.
public protocol WireEnum: Value, RawRepresentable, CaseIterable, Hashable where RawValue == String {}

extension WireEnum {
    // Every conforming enumeration has at least one case.
    @inlinable
    public static var placeholder: Self { allCases[allCases.startIndex] }
    public static var schema: JSON { ["type": "string", "enum": .array(allCases.map { .string($0.rawValue) })] }

    @inlinable
    public func write(to binary: inout BinaryWriter) {
        var position: UInt8 = 0
        for word in Self.allCases {
            if word == self { break }
            position += 1
        }
        binary.append(position)
    }
    @inlinable
    public func write(to json: inout JSONWriter) { json.write(rawValue) }

    @inlinable
    public static func read(from binary: inout BinaryReader) -> Self {
        let position = Int(binary.byte())
        guard position < allCases.count else {
            binary.fail()
            return placeholder
        }
        return allCases[allCases.index(allCases.startIndex, offsetBy: position)]
    }

    @inlinable
    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Self? {
        guard let text = json.string, let word = Self(rawValue: text) else {
            reader.fault("must be one of " + allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
            return nil
        }
        return word
    }
}
