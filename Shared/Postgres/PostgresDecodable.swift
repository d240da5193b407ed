public import FoundationEssentials

/// A type that the value of a column can be decoded as. `Optional` decodes a null as nil; the others throw.
public protocol PostgresDecodable {
    /// Decodes the value of a column, or an element of an array.
    ///
    /// - Throws: ``PostgresError/decoding(column:reason:)`` if the value has another type.
    init(decoding cell: Cell) throws(PostgresError)

    /// Decodes a column of several values: an array, except for `UInt8`.
    static func array(decoding cell: Cell) throws(PostgresError) -> [Self]
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    public init(decoding cell: Cell) throws(PostgresError) {
        self = cell.bytes == nil ? nil : try Wrapped(decoding: cell)
    }
}

extension Int: PostgresDecodable {
    /// Decodes a `smallint`, `integer`, `bigint` or `oid`.
    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        switch (cell.type, bytes.count) {
        case (TypeOID.int8, 8): self = Int(bytes.bigEndian(Int64.self))
        case (TypeOID.int4, 4): self = Int(bytes.bigEndian(Int32.self))
        case (TypeOID.int2, 2): self = Int(bytes.bigEndian(Int16.self))
        case (TypeOID.oid, 4): self = Int(bytes.bigEndian(UInt32.self))
        default: throw cell.mismatch("an integer")
        }
    }
}

extension String: PostgresDecodable {
    /// Decodes `text`, `json`, `jsonb`, an enum or a name.
    public init(decoding cell: Cell) throws(PostgresError) {
        guard let text = try cell.text() else { throw cell.mismatch("text") }
        self.init(decoding: text, as: UTF8.self)
    }
}

/// An array of bytes decodes `bytea`, or the UTF-8 of text, `json` and `jsonb`.
extension UInt8: PostgresDecodable {
    /// Decodes a `"char"`.
    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        guard cell.type == TypeOID.char, bytes.count == 1 else { throw cell.mismatch("a \"char\"") }
        self = bytes[0]
    }

    public static func array(decoding cell: Cell) throws(PostgresError) -> [UInt8] {
        guard let bytes = try cell.type == TypeOID.bytea ? cell.value() : cell.text() else {
            throw cell.mismatch("bytes")
        }
        return [UInt8](bytes)
    }
}

extension Bool: PostgresDecodable {
    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        guard cell.type == TypeOID.bool, bytes.count == 1 else { throw cell.mismatch("a boolean") }
        self = bytes[0] != 0
    }
}

extension Double: PostgresDecodable {
    /// Decodes a `double precision` or `real`.
    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        switch (cell.type, bytes.count) {
        case (TypeOID.float8, 8): self.init(bitPattern: bytes.bigEndian(UInt64.self))
        case (TypeOID.float4, 4): self.init(Float(bitPattern: bytes.bigEndian(UInt32.self)))
        default: throw cell.mismatch("a floating-point number")
        }
    }
}

extension UUID: PostgresDecodable {
    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        guard cell.type == TypeOID.uuid, bytes.count == 16 else { throw cell.mismatch("a UUID") }
        self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}

/// A `timestamptz`.
public struct PostgresTimestamp: PostgresDecodable, Sendable, Equatable {
    /// Milliseconds since 1970 UTC, rounded down; ±`infinity` is `Int64.max` or `Int64.min`.
    public let milliseconds: Int64

    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        guard cell.type == TypeOID.timestamptz, bytes.count == 8 else { throw cell.mismatch("a timestamptz") }
        milliseconds = Epoch.milliseconds(wire: bytes.bigEndian(Int64.self))
    }
}

/// A `date`.
public struct PostgresDate: PostgresDecodable, Sendable, Equatable {
    /// Days since 1970-01-01; `infinity` is `Int.max`, `-infinity` is `Int.min`.
    public let daysSinceEpoch: Int

    public init(decoding cell: Cell) throws(PostgresError) {
        let bytes = try cell.value()
        guard cell.type == TypeOID.date, bytes.count == 4 else { throw cell.mismatch("a date") }
        daysSinceEpoch = Epoch.days(wire: bytes.bigEndian(Int32.self))
    }
}
