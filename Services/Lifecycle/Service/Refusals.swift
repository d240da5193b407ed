import Contracts
import HTTPTypes
public import LifecycleMachine
public import ServiceKit

/// How the machine's refusals look over HTTP. Exhaustive, and the only place that knows.
extension LifecycleRefusal: ProblemConvertible {
    public var problem: Problem {
        let status: HTTPResponse.Status
        switch self {
        case .deviceNotRegistered, .appNotInstalled, .unknownWake: status = .notFound
        case .resultMissing, .successMissing: status = .unprocessableContent
        case .deviceOff, .illegalTransition, .appNotRunning, .invalidTask, .restricted, .alreadyCompleted,
            .unsupportedOnProfile, .activityNotAllowed, .locationDenied, .regionMonitoringFailure, .unavailableOnDevice:
            status = .conflict
        case .unreadableEvent: status = .internalServerError
        }
        return Problem(status, code, "lifecycle refuses this").because(description)
    }
}

extension LifecycleMachine: FleetMember {
    public var fleet: String? { registration?.fleet }
}
