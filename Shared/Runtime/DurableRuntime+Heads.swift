import EventLog
public import Postgres

extension DurableRuntime {
    /// Returns the head of every partition: the offset of its newest event.
    public func heads() async throws(PostgresError) -> [Int: Int] {
        try LogReader.heads(try await pool.execute(LogReader.heads))
    }
}
