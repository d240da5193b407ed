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

extension [Problem] {
    /// What the machine may refuse at a route about a device.
    ///
    /// - Parameter refusals: those that not every such route has; what they carry is an example.
    static func ofDevice(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered] + refusals).map(\.problem)
    }

    /// At a route about an installed app.
    static func ofApp(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail")] + refusals).map(\.problem)
    }

    /// At a route that stands for code of an app.
    static func ofCode(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail"), .appNotRunning(.suspended)] + refusals).map(\.problem)
    }

    /// What the machine refuses of any transition.
    static var ofTransition: [Problem] { ofApp(.deviceOff, .illegalTransition(.suspended, .home)) }
}
