/// The rows of a query's result. They refer to libpq's buffer; a reader copies a value.
public struct Rows: Sendable, RandomAccessCollection {
    let handle: ResultHandle

    /// The number of rows that the command inserted, updated, deleted or returned.
    public var affected: Int { handle.affected }

    /// The names of the columns, in order.
    public var columns: [String] {
        (0..<handle.columnCount).map { ResultHandle.columnName(handle.pointer, Int32($0)) }
    }

    /// The server's command tag: `UPDATE 3`, `COMMIT`, or `ROLLBACK` for the commit of a failed transaction.
    public var commandTag: String { handle.tag }

    /// The number to compare with `rowsExpected`.
    var touched: Int { handle.columnCount > 0 ? handle.rowCount : handle.affected }

    /// Decodes all columns of all rows.
    ///
    /// - Throws: ``PostgresError/decoding(column:reason:)``, if the columns have other types, or their number differs.
    @inlinable public func decode<each Value: PostgresDecodable>(
        _ types: (repeat each Value).Type
    ) throws(PostgresError) -> [(repeat each Value)] {
        try map { row throws(PostgresError) in try row.decode(types) }
    }

    /// Decodes the only column of all rows.
    @inlinable public func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> [Value] {
        try map { row throws(PostgresError) in try row.decode(type) }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { handle.rowCount }

    public subscript(position: Int) -> Row {
        precondition(position >= 0 && position < handle.rowCount, "row out of range")
        return Row(handle: handle, index: Int32(truncatingIfNeeded: position))
    }
}
