import Logging
import Synchronization

/// The last server fault of a pool's statements.
///
/// A health probe may succeed while statements fail: its session may be older, its statement different, or it may need
/// no disk space.
public final class ServerFaults: Sendable {
    /// The shortest interval between two log messages about the same fault.
    private static let quiet = Duration.seconds(10)

    private struct State {
        var last: (error: PostgresError, at: ContinuousClock.Instant)?
        var logged: (sqlState: String, at: ContinuousClock.Instant)?
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    /// Records and logs an error that is the server's fault; ignores all others.
    func note(_ error: any Error) {
        guard let error = error as? PostgresError, error.isServerFault else { return }
        // A pool that is too small is not a server fault.
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
        if isNews { logger.error("database statements fail", error: error) }
    }

    /// Returns the newest fault if it is not older than `age`.
    public func newest(within age: Duration) -> PostgresError? {
        state.withLock(\.last).flatMap { $0.at.duration(to: .now) <= age ? $0.error : nil }
    }
}
