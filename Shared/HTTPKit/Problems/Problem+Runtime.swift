import Contracts
import HTTPTypes
public import Runtime

extension Problem {
    /// The service has not read up to the request's `Dormouse-Position`, or up to the latest event about the device.
    public static let behind = Problem(
        .serviceUnavailable, "behind", "Service has not read the log far enough yet", retryAfter: 1)

    public static let stopping = Problem(
        .serviceUnavailable, "stopping", "Service is stopping",
        detail: "Send the request again, with the same Idempotency-Key if it has one.", retryAfter: 1)
    public static let idempotencyConflict = Problem(
        .unprocessableContent, "idempotency_conflict", "Idempotency-Key was used for another request")

    /// The problems of ``Commands/read(_:of:suffices:)``, without the refusals of the machine.
    static let ofReads =
        [.invalidHeader, .behind, .positionBeyondLog, .newerProgramNeeded] + of(.overloaded, .stopping, .eventsLost)
    /// The problems of ``Commands/submit(_:_:fingerprint:registers:problem:answer:)``.
    static let ofCommands =
        ofReads + [.preconditionFailed, .idempotencyConflict]
        + of(.parked(key: .device("d1")), .stateTooLarge(key: .device("d1"), bytes: 65_537), .outcomeUnknown)
    /// The problems of any route that needs the database.
    static let ofDatabase = of(.databaseUnavailable)

    private static func of(_ errors: RuntimeError...) -> [Problem] { errors.map { Problem($0) } }

    /// Converts an error of the runtime.
    public init(_ error: RuntimeError) {
        switch error {
        case .overloaded: self.init(.serviceUnavailable, "overloaded", "Command queue is full", retryAfter: 1)
        case .behind:
            self = .behind.with(detail: "It has not read the latest events about this device. Send the request again.")
        case .stopping: self = .stopping
        case .eventsLost:
            self.init(
                .serviceUnavailable, "events_lost", "Database has lost events",
                detail: "An operator must confirm the loss with \"ops begin-incarnation\".", retryAfter: 1)
        case .databaseUnavailable:
            self.init(.serviceUnavailable, "database_unavailable", "Database is not available", retryAfter: 1)
        case .outcomeUnknown:
            self.init(
                .serviceUnavailable, "outcome_unknown", "Result of the command is unknown",
                detail: "The database connection was lost during the commit. Repeat the request with the same "
                    + "Idempotency-Key.", retryAfter: 1)
        case .parked:
            self.init(
                .conflict, "parked", "Device is parked",
                detail: "An operator must replay or discard its dead letters first.")
        case .failed: self = .internalError
        case .idempotencyConflict: self = .idempotencyConflict
        case .stateTooLarge:
            self.init(.conflict, "state_too_large", "State of the device is too large", detail: error.description)
        case .newerState: self = .newerProgramNeeded.with(detail: error.description)
        case .malformedState: self = .internalError
        }
    }
}
