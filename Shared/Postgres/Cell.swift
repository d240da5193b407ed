import CLibpq

/// The value of a column in a row, or an element of an array. It is valid only in the call that receives it.
public struct Cell {
    let type: UInt32
    /// A view into libpq's buffer, valid while the row's handle lives; nil for a null.
    let bytes: UnsafeRawBufferPointer?
    let result: OpaquePointer
    let column: Int32
    var isElement = false

    /// Whether the type is `timestamptz`.
    public var isTimestamp: Bool { type == TypeOID.timestamptz }

    /// Returns the bytes of a value that is not null.
    func value() throws(PostgresError) -> UnsafeRawBufferPointer {
        guard let bytes else { throw error(isElement ? "has a null element" : "is null") }
        return bytes
    }

    /// Returns the UTF-8 of a text; nil for other types.
    func text() throws(PostgresError) -> UnsafeRawBufferPointer? {
        let bytes = try value()
        if TypeOID.isText(type) { return bytes }
        // The binary form of jsonb has one version byte before the text.
        return type == TypeOID.jsonb ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst()) : nil
    }

    func element(_ type: UInt32, _ bytes: UnsafeRawBufferPointer?) -> Cell {
        Cell(type: type, bytes: bytes, result: result, column: column, isElement: true)
    }

    @inline(never) func mismatch(_ wanted: String) -> PostgresError {
        isElement
            ? error("is an array of \(TypeOID.name(type))")
            : error("is \(TypeOID.name(type)) of \(bytes?.count ?? 0) bytes, not \(wanted)")
    }

    // Never inlined: errors are large, and would slow down each caller.
    @inline(never) private func error(_ reason: String) -> PostgresError {
        .decoding(column: ResultHandle.columnName(result, column), reason: reason)
    }
}

extension UnsafeRawBufferPointer {
    func bigEndian<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type, at offset: Int = 0) -> Value {
        Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
