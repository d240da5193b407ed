public import Contracts
public import Machines

/// Why a command was refused. Nothing is changed then.
public enum LifecycleRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case deviceOff
    case appNotInstalled(String)
    case illegalTransition(AppState, AppTransition)
    /// The call stands for code of an app that can't run any.
    case appNotRunning(AppState)
    /// `UIBackgroundTaskIdentifier.invalid`: running in the background is impossible.
    case invalidTask
    /// The device forbids to change this.
    case restricted
    case unknownWake(String)
    case alreadyCompleted
    /// The reason of the wake asks for a result.
    case resultMissing(WakeReason)
    /// `setTaskCompleted` must say whether it was done.
    case successMissing
    /// The app may not do this in the background: its manifest, the user, or the flag of location updates is against it.
    case activityNotAllowed(ActivityKind)
    /// `CLError.denied`: the user has not authorized it.
    case locationDenied
    /// `CLError.regionMonitoringFailure`, and why.
    case regionMonitoringFailure(String)
    /// The device lacks what it takes.
    case unavailableOnDevice(String)
    /// The generation of iOS does not have it.
    case unsupportedOnProfile(ProfileName)
    /// Another service's event that can't be read.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable word for it in error documents.
    public var code: String {
        switch self {
        case .deviceNotRegistered: "device_not_registered"
        case .deviceOff: "device_off"
        case .appNotInstalled: "app_not_installed"
        case .illegalTransition: "illegal_transition"
        case .appNotRunning: "app_not_running"
        case .invalidTask: "invalid_task"
        case .restricted: "restricted"
        case .unknownWake: "unknown_wake"
        case .alreadyCompleted: "already_completed"
        case .resultMissing: "result_missing"
        case .successMissing: "success_missing"
        case .activityNotAllowed: "activity_not_allowed"
        case .locationDenied: "location_denied"
        case .regionMonitoringFailure: "region_monitoring_failure"
        case .unavailableOnDevice: "unavailable_on_device"
        case .unsupportedOnProfile: "unsupported_on_profile"
        case .unreadableEvent: "unreadable_event"
        }
    }

    public var description: String {
        switch self {
        case .deviceNotRegistered: "The device is not registered."
        case .deviceOff: "The device is switched off."
        case .appNotInstalled(let app): "The app \(app) is not installed."
        case .illegalTransition(let state, let event):
            "\"\(event.rawValue)\" is not possible for an app in state \"\(state.rawValue)\"."
        case .appNotRunning(let state): "The app runs no code: its state is \"\(state.rawValue)\"."
        case .invalidTask: "The app can't get time in the background."
        case .restricted: "The device does not allow its user to change this."
        case .unknownWake(let wake): "The app was not woken by \(wake)."
        case .alreadyCompleted: "It was completed before, or there was nothing to complete."
        case .resultMissing(let reason): "The completion of a \(reason.rawValue) wake needs a result."
        case .successMissing: "The completion of a task request needs success: true or false."
        case .activityNotAllowed(let kind):
            "The app may not begin \"\(kind.rawValue)\" in the background: it must declare the mode, Background App Refresh must "
                + "not stand against it, and location updates need allowsBackgroundLocationUpdates from iOS 9."
        case .locationDenied: "The user has not authorized the app to know the location."
        case .regionMonitoringFailure(let reason): "The region can't be monitored: \(reason)."
        case .unavailableOnDevice(let need): "The device does not have this: \(need)."
        case .unsupportedOnProfile(let profile): "\(profile.rawValue) does not have this."
        case .unreadableEvent(let error): error.description
        }
    }
}
