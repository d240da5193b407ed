import Contracts
import HTTPKit
import LifecycleCore
import Machines
import ServiceKit

extension LifecycleRefusal {
    /// The refusal of a generation without a feature, as an example.
    static func unsupported(_ feature: Feature, on name: ProfileName) -> Self {
        unsupported(feature, on: Generations.standard[name])
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
