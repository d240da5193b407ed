import EventLog
public import Postgres

extension DurableRuntime {
    /// The head of every partition: how far the log goes now.
    public func heads() async throws(PostgresError) -> [Int: Int] {
        var heads: [Int: Int] = [:]
        for row in try await pool.run(Call(LogReader.heads)) { heads[try row.int(0)] = try row.int(1) }
        return heads
    }
}
