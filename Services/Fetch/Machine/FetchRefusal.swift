public import Contracts
public import Machines

/// Why a command was refused. Nothing is changed then.
public enum FetchRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// Background fetch came with iOS 7.
    case unsupportedOnProfile(ProfileName)
    /// One refresh of the app is under way.
    case fetchRunning(String)
    // What `lifecycle` would refuse, under the same names.
    case modeNotDeclared
    /// The app has task requests in its place.
    case fetchDisabled
    case deviceOff
    case inForeground
    case forceQuit
    case backgroundRefreshDenied
    case backgroundRefreshRestricted
    case lowPowerMode
    /// Task requests came with iOS 13.
    case noTaskRequests(ProfileName)
    // `BGTaskScheduler.Error`, with the reason.
    case taskUnavailable(String)
    case tooManyPendingTaskRequests(TaskRequestKind, limit: Int)
    case taskNotPermitted(String)
    case immediateRunIneligible(String)
    /// Only what was submitted can be run.
    case taskNotPending(String)
    case taskNotRunning(String)
    /// Another service's event that can't be read.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable word for it in error documents.
    public var code: String {
        switch self {
        case .deviceNotRegistered: "device_not_registered"
        case .appNotInstalled: "app_not_installed"
        case .unsupportedOnProfile, .noTaskRequests: "unsupported_on_profile"
        case .fetchRunning: "fetch_running"
        case .modeNotDeclared: "mode_not_declared"
        case .fetchDisabled: "background_fetch_disabled"
        case .deviceOff: "device_off"
        case .inForeground: "in_foreground"
        case .forceQuit: "force_quit"
        case .backgroundRefreshDenied: "background_refresh_denied"
        case .backgroundRefreshRestricted: "background_refresh_restricted"
        case .lowPowerMode: "low_power_mode"
        case .taskUnavailable: "bg_task_unavailable"
        case .tooManyPendingTaskRequests: "bg_task_too_many_pending_task_requests"
        case .taskNotPermitted: "bg_task_not_permitted"
        case .immediateRunIneligible: "bg_task_immediate_run_ineligible"
        case .taskNotPending: "task_not_pending"
        case .taskNotRunning: "task_not_running"
        case .unreadableEvent: "unreadable_event"
        }
    }

    public var description: String {
        switch self {
        case .deviceNotRegistered: "The device is not registered."
        case .appNotInstalled(let app): "The app \(app) is not installed."
        case .unsupportedOnProfile(let profile): "\(profile.rawValue) has no background fetch."
        case .fetchRunning(let fetch): "The refresh \(fetch) of the app is under way."
        case .modeNotDeclared: "The manifest of the app does not declare the mode \"fetch\"."
        case .fetchDisabled:
            "The manifest of the app has permittedTaskIdentifiers, which disables background fetch: submit a task request."
        case .deviceOff: "The device is switched off."
        case .inForeground: "The app is on screen."
        case .forceQuit: "The user ended the app in the switcher and has not opened it since."
        case .backgroundRefreshDenied: "Background App Refresh is off, for the app or for the device."
        case .backgroundRefreshRestricted: "Background App Refresh is restricted on the device."
        case .lowPowerMode: "Low Power Mode is on."
        case .noTaskRequests(let profile): "\(profile.rawValue) has no task requests."
        case .taskUnavailable(let reason): Self.scheduler("unavailable", 1, reason)
        case .tooManyPendingTaskRequests(let kind, let limit):
            Self.scheduler(
                "tooManyPendingTaskRequests", 2, "\(limit) of kind \(kind.rawValue) are pending, and no more are taken")
        case .taskNotPermitted(let reason): Self.scheduler("notPermitted", 3, reason)
        case .immediateRunIneligible(let reason): Self.scheduler("immediateRunIneligible", 4, reason)
        case .taskNotPending(let identifier): "No task request \(identifier) is pending."
        case .taskNotRunning(let identifier): "The task \(identifier) is not running."
        case .unreadableEvent(let error): error.description
        }
    }

    /// In Apple's words and numbers (`BGTaskScheduler.Error.Code`).
    private static func scheduler(_ name: String, _ number: Int, _ reason: String) -> String {
        "BGTaskScheduler.Error.\(name) (\(number)): \(reason)."
    }
}
