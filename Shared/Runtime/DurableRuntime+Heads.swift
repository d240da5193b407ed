import EventLog
public import Postgres

extension DurableRuntime {
    /// Returns the head of every partition: the offset of its newest event.
    public func heads() async throws(PostgresError) -> [Int: Int] {
        var heads: [Int: Int] = [:]
        for row in try await pool.execute(Query(LogReader.heads)) { heads[try row.int(0)] = try row.int(1) }
        return heads
    }
}
