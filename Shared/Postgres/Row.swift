import CLibpq

/// One row of a result. Columns count from 0.
public struct Row: Sendable {
    let handle: ResultHandle
    let index: Int32

    /// Decodes all columns of the row, for example as `(UUID, Int, String?).self`.
    ///
    /// - Throws: ``PostgresError/decoding(column:reason:)`` if a column has another type, or the row has another number
    ///   of columns.
    @inlinable public func decode<each Value: PostgresDecodable>(
        _ types: (repeat each Value).Type
    ) throws(PostgresError) -> (repeat each Value) {
        var reader = ColumnReader(self)
        let values = (repeat try reader.next((each Value).self))
        try reader.finish()
        return values
    }

    /// Decodes the only column of the row.
    @inlinable public func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        var reader = ColumnReader(self)
        let value = try reader.next(type)
        try reader.finish()
        return value
    }

    /// Decodes the columns from this one on, and ignores the others.
    @inlinable public func decode<each Value: PostgresDecodable>(
        _ types: (repeat each Value).Type, at column: Int
    ) throws(PostgresError) -> (repeat each Value) {
        var reader = ColumnReader(self, at: column)
        return (repeat try reader.next((each Value).self))
    }

    /// Decodes one column.
    @inlinable public func decode<Value: PostgresDecodable>(
        _ type: Value.Type, at column: Int
    ) throws(PostgresError) -> Value {
        try Value(decoding: cell(column))
    }

    @usableFromInline func cell(_ column: Int) throws(PostgresError) -> Cell {
        guard column >= 0, column < handle.columnCount else { throw missing(column) }
        let number = Int32(truncatingIfNeeded: column)
        var bytes: UnsafeRawBufferPointer?
        if PQgetisnull(handle.pointer, index, number) == 0 {
            let length = Int(PQgetlength(handle.pointer, index, number))
            bytes = UnsafeRawBufferPointer(start: PQgetvalue(handle.pointer, index, number), count: length)
        }
        return Cell(type: PQftype(handle.pointer, number), bytes: bytes, result: handle.pointer, column: number)
    }

    @inline(never) private func missing(_ column: Int) -> PostgresError {
        .decoding(column: "\(column)", reason: "the result has only \(handle.columnCount) columns")
    }
}

/// Decodes the columns of a row one after the other.
@usableFromInline struct ColumnReader {
    @usableFromInline let row: Row
    @usableFromInline var column: Int

    @usableFromInline init(_ row: Row, at column: Int = 0) { (self.row, self.column) = (row, column) }

    @inlinable mutating func next<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        defer { column += 1 }
        return try row.decode(type, at: column)
    }

    /// Checks that the row has no more columns.
    @usableFromInline func finish() throws(PostgresError) {
        let count = row.handle.columnCount
        guard column == count else {
            throw .decoding(column: "\(column)", reason: "the result has \(count) columns, not \(column)")
        }
    }
}
