import Contracts
public import HTTPKit
import HTTPTypes
public import LifecycleMachine

/// Status and title of each refusal of the machine.
extension LifecycleRefusal: ProblemConvertible {
    public var problem: Problem {
        let (status, title): (HTTPResponse.Status, String) =
            switch self {
            case .deviceNotRegistered: (.notFound, "Device is not registered")
            case .deviceOff: (.conflict, "Device is switched off")
            case .appNotInstalled: (.notFound, "App is not installed")
            case .illegalTransition: (.conflict, "Transition is not possible in this state")
            case .appNotRunning: (.conflict, "App is not running")
            case .invalidTask: (.conflict, "Background tasks are not available")
            case .restricted: (.conflict, "Device restricts this setting")
            case .unknownWake: (.notFound, "Wake is unknown")
            case .alreadyCompleted: (.conflict, "Nothing left to complete")
            case .resultMissing: (.unprocessableContent, "Wake result is missing")
            case .successMissing: (.unprocessableContent, "Task success is missing")
            case .activityNotAllowed: (.conflict, "Activity is not allowed in the background")
            case .locationDenied: (.conflict, "Location is not authorized")
            case .regionMonitoringFailure: (.conflict, "Region can't be monitored")
            case .unavailableOnDevice: (.conflict, "Device lacks the hardware")
            case .unsupportedOnProfile: (.conflict, "Profile does not support this")
            case .unreadableEvent: (.internalServerError, "Event can't be read")
            }
        return Problem(status, code, title).with(detail: description)
    }
}

extension [Problem] {
    /// Returns the problems of a route about a device.
    ///
    /// - Parameter refusals: more refusals of this route, with example values.
    static func ofDevice(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered] + refusals).map(\.problem)
    }

    /// Returns the problems of a route about an installed app.
    static func ofApp(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail")] + refusals).map(\.problem)
    }

    /// Returns the problems of a route that an app's code calls.
    static func ofCode(_ refusals: LifecycleRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail"), .appNotRunning(.suspended)] + refusals).map(\.problem)
    }

    /// The problems of a transition.
    static var ofTransition: [Problem] { ofApp(.deviceOff, .illegalTransition(.suspended, .home)) }
}
