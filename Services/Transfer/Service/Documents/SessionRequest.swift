import Contracts
import Records

/// `URLSession(configuration:)` for a background configuration.
struct SessionRequest: Record, Equatable {
    var configuration: Flattened<SessionConfiguration> = SessionConfiguration()
    /// The process that creates the session: the app, or one of its extensions.
    var process: Defaulted<SessionProcess> = SessionProcess.app
}

/// The report that the system cancels a task.
struct SystemCancellation: Record, Equatable {
    var reason = CancellationReason.insufficientSystemResources
}
