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
        var logged: (kind: String, at: ContinuousClock.Instant)?
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
            guard let kind = Self.kind(of: error) else { return false }
            if let logged = state.logged, logged.kind == kind, logged.at + Self.quiet > now { return false }
            state.logged = (kind, now)
            return true
        }
        if isNews { logger.error("database statements fail", error: error) }
    }

    /// Returns the kind of a fault that is logged. The service reports the loss of a connection elsewhere.
    private static func kind(of error: PostgresError) -> String? {
        switch error {
        case .server(let refusal) where !error.isConnectionProblem: refusal.sqlState
        case .connectFailed(let failure) where failure.isUnsuitable: failure.target
        default: nil
        }
    }

    /// Returns the newest fault if it is not older than `age`.
    public func newest(within age: Duration) -> PostgresError? {
        state.withLock(\.last).flatMap { $0.at.duration(to: .now) <= age ? $0.error : nil }
    }
}
