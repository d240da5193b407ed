public import Contracts
public import Machines

/// The reason for a refused command, which changes nothing.
public enum LifecycleRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case deviceOff
    case appNotInstalled(String)
    case illegalTransition(AppState, AppTransition)
    /// The code of the app cannot run in this state.
    case appNotRunning(AppState)
    /// `UIBackgroundTaskIdentifier.invalid`: the app cannot run in the background.
    case invalidTask
    /// A restriction of the device forbids the change.
    case restricted
    case unknownWake(String)
    case alreadyCompleted
    /// The completion of this wake needs a result.
    case resultMissing(WakeReason)
    /// The completion needs the parameter of `setTaskCompleted(success:)`.
    case successMissing
    /// The manifest, a setting of the user, or the flag of location updates forbids the activity in the background.
    case activityNotAllowed(ActivityKind)
    /// `CLError.denied`: the user has not authorized location.
    case locationDenied
    /// `CLError.regionMonitoringFailure`, with the reason.
    case regionMonitoringFailure(String)
    /// The device lacks the hardware.
    case unavailableOnDevice(String)
    /// The profile does not have the feature.
    case unsupportedOnProfile(ProfileName)
    /// An unreadable event of another service.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable problem code.
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
        case .deviceOff: "The device is switched off. Switch it on first."
        case .appNotInstalled(let app): "The app \(app) is not installed."
        case .illegalTransition(let state, let event):
            "The transition \"\(event.rawValue)\" is not possible in the state \"\(state.rawValue)\"."
        case .appNotRunning(let state): "The code of the app cannot run in the state \"\(state.rawValue)\"."
        case .invalidTask: "The app cannot run in the background now, or it has too many open tasks."
        case .restricted: "A restriction of the device forbids this change."
        case .unknownWake(let wake): "The app has no wake \(wake)."
        case .alreadyCompleted:
            "The callback or wake is already completed, or the callback does not wait for a completion."
        case .resultMissing(let reason):
            "The completion of a \(reason.rawValue) wake needs a result: newData, noData or failed."
        case .successMissing: "The completion of a task request needs success: true or false."
        case .activityNotAllowed(let kind):
            "The app may not start \"\(kind.rawValue)\" in the background. It must declare the mode, Background App "
                + "Refresh must allow it, and location updates need allowsBackgroundLocationUpdates from iOS 9."
        case .locationDenied: "The user has not authorized location for the app."
        case .regionMonitoringFailure(let reason): "The region cannot be monitored: \(reason)."
        case .unavailableOnDevice(let need): "The device lacks the hardware: \(need)."
        case .unsupportedOnProfile(let profile): "The profile \(profile.rawValue) does not have this feature."
        case .unreadableEvent(let error): error.description
        }
    }
}
