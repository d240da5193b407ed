import EventLog
import HTTPTypes
import Hummingbird
import Logging
import Machines
import NIOCore
import Postgres
import Records
import Runtime
import Telemetry

extension Problem {
    /// Creates the problem of an error that a client may cause or that passes; nil for an error of the service.
    init?(known error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let refusal as any MachineRefusal: self = refusal.problem
        case let error as RuntimeError: self.init(error)
        case let error as DocumentError: self.init(error)
        case let error as JSONSyntaxError: self.init(error)
        case is NIOTooManyBytesError: self = .bodyTooLarge
        case is IdempotencyConflict: self = .idempotencyConflict
        // The client has disconnected, or the service stops.
        case is CancellationError: self.init(RuntimeError.stopping)
        case let error as PostgresError where error == .cancelled: self.init(RuntimeError.stopping)
        // Read routes query the database without the runtime. A fault of the database is not an internal error.
        case let error as PostgresError where error.isServerFault:
            // The pool has logged the message of the server.
            self.init(RuntimeError.databaseUnavailable)
        default: return nil
        }
    }

    /// Creates the problem of any error. An unknown error becomes `internal_error`. Its description appears only in the
    /// log.
    init(of error: any Error, _ request: Request, _ context: ServiceContext) {
        if let problem = Problem(known: error) {
            self = problem
            return
        }
        context.logger.error(
            "failed to process request", error: error,
            metadata: [
                LogKey.method: .string(request.method.rawValue),
                LogKey.route: .string(context.endpointPath ?? "none"),
            ])
        self = .internalError
    }
}
