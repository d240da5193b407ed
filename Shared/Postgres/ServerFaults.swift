import Logging
import Synchronization

/// The last fault of the server that a pool's statements met. A probe of its own may go well where they fail: in a session
/// that began earlier, with another statement, or for want of disk.
public final class ServerFaults: Sendable {
    /// The same fault is logged so often.
    private static let quiet = Duration.seconds(10)

    private struct State {
        var last: (error: PostgresError, at: ContinuousClock.Instant)?
        var logged: (sqlState: String, at: ContinuousClock.Instant)?
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Keeps what is the server's fault, and passes over all else. The log gets the server's own words, whatever becomes of
    /// the error.
    func note(_ error: any Error) {
        guard let error = error as? PostgresError, error.isServerFault else { return }
        // Too small a pool is no damage.
        if case .poolTimeout = error { return }
        let isNews = state.withLock { state in
            let now = ContinuousClock.now
            state.last = (error, now)
            guard case .server(let refusal) = error, !error.isConnectionProblem else { return false }
            if let logged = state.logged, logged.sqlState == refusal.sqlState, logged.at + Self.quiet > now {
                return false
            }
            state.logged = (refusal.sqlState, now)
            return true
        }
        if isNews { logger.error("the database fails statements", metadata: ["error": "\(error)"]) }
    }

    /// The newest fault that is at most so old; nil where there is none.
    public func newest(within age: Duration) -> PostgresError? {
        state.withLock(\.last).flatMap { $0.at.duration(to: .now) <= age ? $0.error : nil }
    }
}
