import Contracts
public import FetchMachine
public import HTTPKit
import HTTPTypes
public import ServiceKit

/// Status and title of each refusal of the machine.
extension FetchRefusal: ProblemConvertible {
    public var problem: Problem {
        let (status, title): (HTTPResponse.Status, String) =
            switch self {
            case .deviceNotRegistered: (.notFound, "Device is not registered")
            case .appNotInstalled: (.notFound, "App is not installed")
            case .unsupportedOnProfile, .noTaskRequests: (.conflict, "Profile does not support this")
            case .fetchRunning: (.conflict, "A refresh is in progress")
            case .modeNotDeclared: (.conflict, "Manifest does not declare the mode fetch")
            case .fetchDisabled: (.conflict, "Background fetch is disabled")
            case .deviceOff: (.conflict, "Device is switched off")
            case .inForeground: (.conflict, "App is in the foreground")
            case .forceQuit: (.conflict, "App was force-quit")
            case .backgroundRefreshDenied: (.conflict, "Background App Refresh is off")
            case .backgroundRefreshRestricted: (.conflict, "Background App Refresh is restricted")
            case .lowPowerMode: (.conflict, "Low Power Mode is on")
            case .taskUnavailable: (.conflict, "Background tasks are unavailable")
            case .tooManyPendingTaskRequests: (.conflict, "Too many task requests are pending")
            case .taskNotPermitted: (.conflict, "Task request is not permitted")
            case .immediateRunIneligible: (.conflict, "Task can't run now")
            case .taskNotPending: (.notFound, "Task request is not pending")
            case .taskNotRunning: (.conflict, "Task is not running")
            case .unreadableEvent: (.internalServerError, "Event can't be read")
            }
        return Problem(status, code, title).with(detail: description)
    }

    /// The problem without a detail, for the OpenAPI document.
    var described: Problem {
        var problem = problem
        problem.detail = nil
        return problem
    }

    /// The refusals of every call about an app.
    static let unknown: [Problem] = [
        FetchRefusal.deviceNotRegistered.described, FetchRefusal.appNotInstalled("").described,
    ]
    /// The refusals by the rules of the platform.
    static let platform: [Problem] = [
        FetchRefusal.unsupportedOnProfile(.ios6), .fetchRunning(""), .modeNotDeclared, .fetchDisabled, .deviceOff,
        .inForeground, .forceQuit, .backgroundRefreshDenied, .backgroundRefreshRestricted, .lowPowerMode,
    ].map(\.described)
    /// The refusals of `BGTaskScheduler.submit(_:)`.
    static let submission: [Problem] = [
        FetchRefusal.taskUnavailable(""), .tooManyPendingTaskRequests(.refresh, limit: 0), .taskNotPermitted(""),
    ].map(\.described)
}

extension FetchMachine: FleetMember {}
