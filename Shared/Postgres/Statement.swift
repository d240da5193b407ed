/// An SQL statement with `$1 …` for its parameters. Each connection prepares it in the pipeline of its first query.
/// Keep statements in `static let`s.
public struct Statement: Sendable {
    let sql: String
    /// The FNV-1a hash of the text, computed once, for lookups.
    let fingerprint: UInt64
    /// Whether the statement is a COMMIT, which fails if the server answers ROLLBACK; see `Pipeline`.
    let isCommit: Bool

    /// - Parameter sql: exactly one statement; for several use ``Connection/script(_:)``.
    public init(_ sql: String) {
        self.sql = sql
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        fingerprint = hash
        isCommit = sql.utf8.count < 16 && ["commit", "commit;", "end", "end;"].contains(sql.lowercased())
    }
}

/// A query: one execution of a statement with its parameters.
public struct Query: Sendable {
    let statement: Statement
    let parameters: [Parameter]
    let rowsExpected: Int?

    /// - Parameter rowsExpected: the required number of returned rows, or of affected rows if the statement returns
    ///   none. Another number makes the pipeline throw ``PostgresError/guardFailed(queryIndex:expected:got:)``. The
    ///   client compares it after the pipeline, so it can't prevent a COMMIT in the same pipeline. A guard of a COMMIT
    ///   must raise in SQL or run in an earlier pipeline.
    public init(_ statement: Statement, _ parameters: [Parameter], rowsExpected: Int? = nil) {
        self.statement = statement
        self.parameters = parameters
        self.rowsExpected = rowsExpected
    }

    /// - Parameter rowsExpected: the required number of rows, as in the other initialiser.
    public init(_ statement: Statement, _ parameters: Parameter..., rowsExpected: Int? = nil) {
        self.init(statement, parameters, rowsExpected: rowsExpected)
    }
}

extension ConnectionPool {
    /// Executes a statement on a pooled connection. See ``Query`` for `rowsExpected`.
    @discardableResult public func execute(
        _ statement: Statement, _ parameters: Parameter..., rowsExpected: Int? = nil
    ) async throws(PostgresError) -> Rows {
        try await execute(Query(statement, parameters, rowsExpected: rowsExpected))
    }

    /// Executes a statement on a pooled connection. See ``Query`` for `rowsExpected`.
    @discardableResult public func execute(
        _ statement: Statement, _ parameters: [Parameter], rowsExpected: Int? = nil
    ) async throws(PostgresError) -> Rows {
        try await execute(Query(statement, parameters, rowsExpected: rowsExpected))
    }
}

extension Connection {
    /// Executes a statement. See ``Query`` for `rowsExpected`.
    @discardableResult public func execute(
        _ statement: Statement, _ parameters: Parameter..., rowsExpected: Int? = nil
    ) async throws(PostgresError) -> Rows {
        try await execute(Query(statement, parameters, rowsExpected: rowsExpected))
    }
}
