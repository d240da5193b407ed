/// An isolation level (section 13.2 of PostgreSQL's manual).
public enum TransactionLevel: String, Sendable {
    case readCommitted = "BEGIN ISOLATION LEVEL READ COMMITTED"
    case repeatableRead = "BEGIN ISOLATION LEVEL REPEATABLE READ"
    case serializable = "BEGIN ISOLATION LEVEL SERIALIZABLE"
}

extension ConnectionPool {
    /// Runs `body` in a transaction, and rolls back if it throws. Retries after a serialization failure or a deadlock
    /// (40001, 40P01), so `body` must have no effects outside of the database.
    /// - Parameter retries: the most retries, after pauses that double from 5 ms to 1 s, half of each random.
    /// - Throws: errors of `body`; ``PostgresError/connectionLost(duringPipeline:)`` with `true` if the outcome of the
    ///   COMMIT is unknown.
    public func transaction<Value: Sendable>(
        retries: Int = 5, level: TransactionLevel = .readCommitted, isolation: isolated (any Actor)? = #isolation,
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        var backoff = Backoff(first: .milliseconds(5), limit: .seconds(1))
        var left = retries
        while true {
            do {
                return try await withConnection { connection in
                    _ = try await connection.execute(Query(Statement(level.rawValue)))
                    let value = try await body(connection)
                    _ = try await connection.execute(Query(.commit))
                    return value
                }
            } catch let error as PostgresError where error.isRetryable && left > 0 {
                left -= 1
                try await Task.sleep(for: backoff.next())
            }
        }
    }
}

extension Statement {
    /// `COMMIT`. It throws SQLSTATE 25P02 where the server silently rolls a failed transaction back.
    public static let commit = Statement("COMMIT")
}

/// Exponential backoff up to a limit. Half of each pause is random, so that concurrent retries spread.
struct Backoff {
    private let first: Duration
    private let limit: Duration
    private var pause: Duration

    init(first: Duration, limit: Duration) {
        self.first = first
        self.limit = limit
        pause = first
    }

    mutating func next() -> Duration {
        defer { pause = min(pause * 2, limit) }
        return pause / 2 + pause / 2 * Double.random(in: 0...1)
    }

    mutating func reset() { pause = first }
}
