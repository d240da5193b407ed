import Contracts
public import FetchMachine
import HTTPTypes
public import ServiceKit

/// How the machine's refusals look over HTTP. Exhaustive, and the only place that knows.
extension FetchRefusal: ProblemConvertible {
    public var problem: Problem {
        let status: HTTPResponse.Status
        switch self {
        case .deviceNotRegistered, .appNotInstalled, .taskNotPending: status = .notFound
        case .unsupportedOnProfile, .fetchRunning, .modeNotDeclared, .fetchDisabled, .deviceOff, .inForeground,
            .forceQuit, .backgroundRefreshDenied, .backgroundRefreshRestricted, .lowPowerMode, .noTaskRequests,
            .taskUnavailable,
            .tooManyPendingTaskRequests, .taskNotPermitted, .immediateRunIneligible, .taskNotRunning:
            status = .conflict
        case .unreadableEvent: status = .internalServerError
        }
        return Problem(status, code, "fetch refuses this").because(description)
    }

    /// What the description of a route tells of a refusal.
    var described: Problem {
        var problem = problem
        problem.detail = nil
        return problem
    }

    /// What any call about an app of a device may answer.
    static let unknown: [Problem] = [
        FetchRefusal.deviceNotRegistered.described, FetchRefusal.appNotInstalled("").described,
    ]
    /// What the rules of the platform answer.
    static let platform: [Problem] = [
        FetchRefusal.unsupportedOnProfile(.ios6), .fetchRunning(""), .modeNotDeclared, .fetchDisabled, .deviceOff,
        .inForeground, .forceQuit, .backgroundRefreshDenied, .backgroundRefreshRestricted, .lowPowerMode,
    ].map(\.described)
    /// What `BGTaskScheduler.submit(_:)` answers.
    static let submission: [Problem] = [
        FetchRefusal.taskUnavailable(""), .tooManyPendingTaskRequests(.refresh, limit: 0), .taskNotPermitted(""),
    ].map(\.described)
}

extension FetchMachine: FleetMember {}
