import Contracts
public import FetchCore
import HTTPKit
import HTTPTypes
import Machines
public import ServiceKit

extension FetchRefusal {
    /// The problem without a detail, for the OpenAPI document.
    var described: Problem {
        var problem = problem
        problem.detail = nil
        return problem
    }

    /// The refusal of a generation without background fetch, as an example.
    static let noBackgroundFetch = FetchRefusal.unsupported(.backgroundFetch, on: Generations.standard[.ios6])
    /// The refusal of a generation without task requests, as an example.
    static let noTaskRequests = FetchRefusal.unsupported(.backgroundTaskScheduler, on: Generations.standard[.ios7])
    /// The refusal of a generation without continued processing, as an example.
    static let noContinuedProcessing = FetchRefusal.unsupported(
        .continuedProcessingTasks, on: Generations.standard[.ios18])
    /// The refusals of every call about an app.
    static let unknown: [Problem] = [
        FetchRefusal.deviceNotRegistered.described, FetchRefusal.appNotInstalled("").described,
    ]
    /// The refusals of every call that represents code of an app.
    static let unknownOrNotRunning = unknown + [FetchRefusal.appNotRunning(.suspended).described]
    /// The refusals by the rules of the platform.
    static let platform: [Problem] =
        [FetchRefusal.noBackgroundFetch, .fetchRunning(""), .modeNotDeclared, .fetchDisabled].map(\.described) + wake
    /// The refusals of a wake by the state of the app, of the device and of the settings.
    static let wake: [Problem] = [
        FetchRefusal.deviceOff, .inForeground, .forceQuit, .backgroundRefreshDenied, .backgroundRefreshRestricted,
        .lowPowerMode, .lowDataMode,
    ].map(\.described)
    /// The refusals of `BGTaskScheduler.submit(_:)`.
    static let submission: [Problem] = [
        FetchRefusal.taskUnavailable(""), .tooManyPendingTaskRequests(.refresh, limit: 0), .taskNotPermitted(""),
        .noLaunchHandler(""), .notInForeground, .immediateRunIneligible(""), .taskRunning(""),
    ].map(\.described)
}

extension FetchMachine: FleetMember {}
