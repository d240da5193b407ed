import HTTPTypes
import LifecycleMachine
import Runtime
import ServiceKit

/// How the machine's refusals and the runtime's errors look over HTTP. Exhaustive, and the only place that knows.
func problem(_ refusal: LifecycleRefusal) -> Problem {
    let status: HTTPResponse.Status
    switch refusal {
    case .deviceNotRegistered, .appNotInstalled, .unknownWake: status = .notFound
    case .resultMissing: status = .unprocessableContent
    case .deviceOff, .illegalTransition, .appNotRunning, .invalidTask, .alreadyCompleted, .unsupportedOnProfile: status = .conflict
    case .unreadableEvent: status = .internalServerError
    }
    return Problem(status, refusal.code, "lifecycle refuses this").because(refusal.description)
}

func problem(_ error: RuntimeError) -> Problem {
    switch error {
    case .overloaded: Problem(.serviceUnavailable, "overloaded", "Too much is waiting", retryAfter: 1)
    case .stopping: Problem(.serviceUnavailable, "stopping", "The service is stopping", retryAfter: 1)
    case .databaseUnavailable:
        Problem(.serviceUnavailable, "database_unavailable", "The database can't be reached", retryAfter: 1)
    case .idempotencyConflict:
        Problem(.unprocessableContent, "idempotency_conflict", "This Idempotency-Key was used for another request")
    case .stateTooLarge: Problem(.conflict, "state_too_large", "The device has too much on it")
    case .newerState, .malformedState: .internalError
    }
}
