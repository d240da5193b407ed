/// One SQL statement with `$1 …` for its parameters. Each connection prepares it when it first runs there, in the same
/// flight, under a name of its own; keep statements in `static let`s.
public struct Statement: Sendable {
    let sql: String
    /// FNV-1a of the text, counted once so that looking a statement up costs no pass over it.
    let fingerprint: UInt64
    /// A COMMIT that the server answers with ROLLBACK is a failure, see `Flight`.
    let isCommit: Bool

    /// - Parameter sql: exactly one statement; several at once need ``Connection/script(_:)``.
    public init(_ sql: String) {
        self.sql = sql
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in sql.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        fingerprint = hash
        isCommit = sql.utf8.count < 16 && ["commit", "commit;", "end", "end;"].contains(sql.lowercased())
    }
}

/// One execution of a statement.
public struct Call: Sendable {
    let statement: Statement
    let parameters: [Parameter]
    let rowsExpected: Int?

    /// - Parameter rowsExpected: when set, another number of returned rows (of affected rows, for statements that
    ///   return none) makes the flight throw ``PostgresError/guardFailed(callIndex:expected:got:)``. The count is
    ///   compared here, after the flight: it cannot hold back a COMMIT that travels in the same flight. Guards that
    ///   must do that have to raise in SQL or fly before the COMMIT.
    public init(_ statement: Statement, _ parameters: [Parameter] = [], rowsExpected: Int? = nil) {
        self.statement = statement
        self.parameters = parameters
        self.rowsExpected = rowsExpected
    }
}
