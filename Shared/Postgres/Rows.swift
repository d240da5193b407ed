/// The answer to one call: its rows, none for statements that return none. Rows look into the one buffer that libpq
/// received; cells are copied when they are read, once.
public struct Rows: Sendable, RandomAccessCollection {
    let handle: ResultHandle

    /// Rows that the command inserted, updated, deleted or returned.
    public var affected: Int { handle.affected }

    /// The names of the columns, in order.
    public var columns: [String] { (0..<handle.columnCount).map(handle.columnName) }

    /// The server's word for what it did: `UPDATE 3`, `COMMIT`, and `ROLLBACK` for the commit of a failed transaction.
    public var commandTag: String { handle.tag }

    /// What `rowsExpected` is compared with.
    var touched: Int { handle.columnCount > 0 ? handle.rowCount : handle.affected }

    public var startIndex: Int { 0 }
    public var endIndex: Int { handle.rowCount }

    public subscript(position: Int) -> Row {
        precondition(position >= 0 && position < handle.rowCount, "row out of range")
        return Row(handle: handle, index: Int32(truncatingIfNeeded: position))
    }
}
