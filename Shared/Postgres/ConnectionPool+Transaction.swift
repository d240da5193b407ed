/// How much a transaction sees of others (section 13.2 of PostgreSQL's manual).
public enum TransactionLevel: String, Sendable {
    case readCommitted = "BEGIN ISOLATION LEVEL READ COMMITTED"
    case repeatableRead = "BEGIN ISOLATION LEVEL REPEATABLE READ"
    case serializable = "BEGIN ISOLATION LEVEL SERIALIZABLE"
}

extension ConnectionPool {
    /// BEGIN, `body`, COMMIT; rolled back when `body` throws. Serialization failures and deadlocks (40001, 40P01) run
    /// `body` again, so it must have no effects but on the database.
    /// - Parameter retries: how often to run again, after pauses that double from 5 ms, half of each at random.
    /// - Throws: what `body` throws; ``PostgresError/connectionLost(duringFlight:)`` with `true` when the outcome of the
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
                    _ = try await connection.run(Call(Statement(level.rawValue)))
                    let value = try await body(connection)
                    _ = try await connection.run(Call(.commit))
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
    /// `COMMIT`; throws SQLSTATE 25P02 where the server would answer it with a silent rollback.
    public static let commit = Statement("COMMIT")
}

/// Pauses that double up to a limit; half of each is random, so that those who failed together don't meet again.
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
