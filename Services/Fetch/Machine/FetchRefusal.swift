public import Contracts

/// Why a command was refused. Nothing is changed then.
public enum FetchRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// Background fetch came with iOS 7.
    case unsupportedOnProfile(ProfileName)
    /// One refresh of the app is under way.
    case fetchRunning(String)
    // What `lifecycle` would refuse, under the same names.
    case modeNotDeclared
    case deviceOff
    case inForeground
    case forceQuit
    case backgroundRefreshDenied
    case lowPowerMode
    /// Another service's event that can't be read.
    case unreadableEvent(ContractError)

    /// The stable word for it in error documents.
    public var code: String {
        switch self {
        case .deviceNotRegistered: "device_not_registered"
        case .appNotInstalled: "app_not_installed"
        case .unsupportedOnProfile: "unsupported_on_profile"
        case .fetchRunning: "fetch_running"
        case .modeNotDeclared: "mode_not_declared"
        case .deviceOff: "device_off"
        case .inForeground: "in_foreground"
        case .forceQuit: "force_quit"
        case .backgroundRefreshDenied: "background_refresh_denied"
        case .lowPowerMode: "low_power_mode"
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
        case .deviceOff: "The device is switched off."
        case .inForeground: "The app is on screen."
        case .forceQuit: "The user ended the app in the switcher and has not opened it since."
        case .backgroundRefreshDenied: "Background App Refresh is off, for the app or for the device."
        case .lowPowerMode: "Low Power Mode is on."
        case .unreadableEvent(let error): error.description
        }
    }
}
