public import Contracts
public import Machines

/// The reason why a command was refused; `description` explains each case. A refused command changes nothing.
public enum FetchRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// Background fetch needs iOS 7.
    case unsupportedOnProfile(ProfileName)
    /// A refresh of the app is in progress.
    case fetchRunning(String)
    // Refusals with the same names in `lifecycle`.
    case modeNotDeclared
    /// The manifest has permitted task identifiers, which disable background fetch.
    case fetchDisabled
    case deviceOff
    case inForeground
    case forceQuit
    case backgroundRefreshDenied
    case backgroundRefreshRestricted
    case lowPowerMode
    /// Task requests need iOS 13.
    case noTaskRequests(ProfileName)
    // `BGTaskScheduler.Error` with a reason.
    case taskUnavailable(String)
    case tooManyPendingTaskRequests(TaskRequestKind, limit: Int)
    case taskNotPermitted(String)
    case immediateRunIneligible(String)
    /// Only a submitted request can run.
    case taskNotPending(String)
    case taskNotRunning(String)
    /// An event of another service can't be decoded.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The problem code in error documents. It never changes.
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
        case .fetchRunning(let fetch): "Refresh \(fetch) of the app is in progress: wait until it ends."
        case .modeNotDeclared: "The manifest of the app does not declare the mode \"fetch\"."
        case .fetchDisabled:
            "The manifest has permittedTaskIdentifiers, which disables background fetch: submit a task request instead."
        case .deviceOff: "The device is switched off."
        case .inForeground: "The app is in the foreground."
        case .forceQuit: "The user force-quit the app and has not opened it since."
        case .backgroundRefreshDenied: "Background App Refresh is off for the app or for the device."
        case .backgroundRefreshRestricted: "Background App Refresh is restricted on the device."
        case .lowPowerMode: "Low Power Mode is on."
        case .noTaskRequests(let profile): "\(profile.rawValue) has no task requests."
        case .taskUnavailable(let reason): Self.scheduler("unavailable", 1, reason)
        case .tooManyPendingTaskRequests(let kind, let limit):
            Self.scheduler(
                "tooManyPendingTaskRequests", 2, "an app can have \(limit) pending of kind \(kind.rawValue)")
        case .taskNotPermitted(let reason): Self.scheduler("notPermitted", 3, reason)
        case .immediateRunIneligible(let reason): Self.scheduler("immediateRunIneligible", 4, reason)
        case .taskNotPending(let identifier): "The app has no pending task request \(identifier): submit it first."
        case .taskNotRunning(let identifier): "Task \(identifier) of the app is not running."
        case .unreadableEvent(let error): error.description
        }
    }

    /// Returns a text with Apple's name and number (`BGTaskScheduler.Error.Code`).
    private static func scheduler(_ name: String, _ number: Int, _ reason: String) -> String {
        "BGTaskScheduler.Error.\(name) (\(number)): \(reason)."
    }
}
