import CLibpq
public import FoundationEssentials

/// One row of a result. Columns count from 0.
///
/// Each reader throws ``PostgresError/decoding(column:reason:)`` if the column does not exist or has another type. The
/// `optional…` readers return nil for a null; the others throw.
public struct Row: Sendable {
    let handle: ResultHandle
    let index: Int32

    /// Reads a `smallint`, `integer`, `bigint` or `oid`.
    public func int(_ column: Int) throws(PostgresError) -> Int { try require(optionalInt(column), column) }

    public func optionalInt(_ column: Int) throws(PostgresError) -> Int? {
        guard let cell = try cell(column) else { return nil }
        switch (cell.type, cell.bytes.count) {
        case (TypeOID.int8, 8): return Int(cell.load(as: Int64.self))
        case (TypeOID.int4, 4): return Int(cell.load(as: Int32.self))
        case (TypeOID.int2, 2): return Int(cell.load(as: Int16.self))
        case (TypeOID.oid, 4): return Int(cell.load(as: UInt32.self))
        default: throw mismatch(column, cell, "an integer")
        }
    }

    /// Reads `text`, `json`, `jsonb`, an enum or a name.
    public func text(_ column: Int) throws(PostgresError) -> String { try require(optionalText(column), column) }

    public func optionalText(_ column: Int) throws(PostgresError) -> String? {
        guard let cell = try cell(column) else { return nil }
        if TypeOID.isText(cell.type) { return String(decoding: cell.bytes, as: UTF8.self) }
        // The binary form of jsonb has one version byte before the text.
        if cell.type == TypeOID.jsonb { return String(decoding: cell.bytes.dropFirst(), as: UTF8.self) }
        throw mismatch(column, cell, "text")
    }

    /// Reads `bytea`, or the UTF-8 of text, `json` and `jsonb`.
    public func bytes(_ column: Int) throws(PostgresError) -> [UInt8] { try require(optionalBytes(column), column) }

    public func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? {
        guard let cell = try cell(column) else { return nil }
        if cell.type == TypeOID.bytea || TypeOID.isText(cell.type) { return [UInt8](cell.bytes) }
        if cell.type == TypeOID.jsonb { return [UInt8](cell.bytes.dropFirst()) }
        throw mismatch(column, cell, "bytes")
    }

    public func bool(_ column: Int) throws(PostgresError) -> Bool { try require(optionalBool(column), column) }

    public func optionalBool(_ column: Int) throws(PostgresError) -> Bool? {
        guard let cell = try cell(column) else { return nil }
        guard cell.type == TypeOID.bool, cell.bytes.count == 1 else { throw mismatch(column, cell, "a boolean") }
        return cell.bytes[0] != 0
    }

    /// Reads a `double precision` or `real`.
    public func double(_ column: Int) throws(PostgresError) -> Double { try require(optionalDouble(column), column) }

    public func optionalDouble(_ column: Int) throws(PostgresError) -> Double? {
        guard let cell = try cell(column) else { return nil }
        switch (cell.type, cell.bytes.count) {
        case (TypeOID.float8, 8): return Double(bitPattern: cell.load(as: UInt64.self))
        case (TypeOID.float4, 4): return Double(Float(bitPattern: cell.load(as: UInt32.self)))
        default: throw mismatch(column, cell, "a floating-point number")
        }
    }

    public func uuid(_ column: Int) throws(PostgresError) -> UUID { try require(optionalUUID(column), column) }

    public func optionalUUID(_ column: Int) throws(PostgresError) -> UUID? {
        guard let cell = try cell(column) else { return nil }
        guard cell.type == TypeOID.uuid, cell.bytes.count == 16 else { throw mismatch(column, cell, "a UUID") }
        return UUID(uuid: cell.bytes.loadUnaligned(as: uuid_t.self))
    }

    /// Reads a `timestamptz` in milliseconds since 1970 UTC, rounded down; ±`infinity` is `Int64.max` or `Int64.min`.
    public func timestampMilliseconds(_ column: Int) throws(PostgresError) -> Int64 {
        try require(optionalTimestampMilliseconds(column), column)
    }

    public func optionalTimestampMilliseconds(_ column: Int) throws(PostgresError) -> Int64? {
        guard let cell = try cell(column) else { return nil }
        guard cell.type == TypeOID.timestamptz, cell.bytes.count == 8 else {
            throw mismatch(column, cell, "a timestamptz")
        }
        return Epoch.milliseconds(wire: cell.load(as: Int64.self))
    }

    /// Reads a `date` in days since 1970-01-01; `infinity` is `Int.max`, `-infinity` is `Int.min`.
    public func daysSinceEpoch(_ column: Int) throws(PostgresError) -> Int {
        try require(optionalDaysSinceEpoch(column), column)
    }

    public func optionalDaysSinceEpoch(_ column: Int) throws(PostgresError) -> Int? {
        guard let cell = try cell(column) else { return nil }
        guard cell.type == TypeOID.date, cell.bytes.count == 4 else { throw mismatch(column, cell, "a date") }
        return Epoch.days(wire: cell.load(as: Int32.self))
    }

    /// Returns whether a column is null.
    public func isNull(_ column: Int) throws(PostgresError) -> Bool { try cell(column) == nil }
}

/// A view into libpq's buffer, valid while the row's handle lives.
struct Cell {
    let type: UInt32
    let bytes: UnsafeRawBufferPointer

    func load<Value: FixedWidthInteger & BitwiseCopyable>(as type: Value.Type) -> Value {
        Value(bigEndian: bytes.loadUnaligned(as: type))
    }
}

extension Row {
    func cell(_ column: Int) throws(PostgresError) -> Cell? {
        guard column >= 0, column < handle.columnCount else {
            throw .decoding(column: "\(column)", reason: "the result has only \(handle.columnCount) columns")
        }
        let column = Int32(truncatingIfNeeded: column)
        guard PQgetisnull(handle.pointer, index, column) == 0 else { return nil }
        let length = Int(PQgetlength(handle.pointer, index, column))
        return Cell(
            type: PQftype(handle.pointer, column),
            bytes: UnsafeRawBufferPointer(start: PQgetvalue(handle.pointer, index, column), count: length))
    }

    func require<Value>(_ value: Value?, _ column: Int) throws(PostgresError) -> Value {
        guard let value else { throw .decoding(column: handle.columnName(column), reason: "is null") }
        return value
    }

    func mismatch(_ column: Int, _ cell: Cell, _ wanted: String) -> PostgresError {
        .decoding(
            column: handle.columnName(column),
            reason: "is \(TypeOID.name(cell.type)) of \(cell.bytes.count) bytes, not \(wanted)")
    }
}
