import Contracts
import HTTPKit
import LifecycleCore
import Machines
import Records

/// A line that sets up a device.
struct DeviceSetupLine: Record, DeviceLine {
    /// An app to install.
    struct App: Record {
        /// The bundle identifier.
        var app = ""
        /// Whether the app then comes on screen.
        var launch: Defaulted<Bool> = false
        var manifest: Defaulted<Manifest> = Manifest()

        enum Constraints {
            static let app: Constraint<String> = .identifier
        }
    }

    /// The apps, in the order of their installation.
    var apps: Defaulted<[App]> = []
    /// The conditions after the launches.
    var conditions: ConditionsReport?
    var device = ""
    var registration: Registration = Registration()

    enum Constraints {
        static let apps: Constraint<[App]> = .count(0...100)
        static let device: Constraint<String> = .identifier
    }

    /// Returns the setup, for a device of a fleet.
    func setup(in fleet: String) throws(Problem) -> DeviceSetup {
        guard registration.fleet == nil || registration.fleet == fleet else {
            throw .invalidDocument.with(fieldErrors: [
                FieldError(pointer: "/registration/fleet", detail: "must be the fleet in the path, or missing")
            ])
        }
        var registration = registration
        registration.fleet = fleet
        return DeviceSetup(
            registration, apps: apps.map { DeviceSetup.App($0.app, $0.manifest, isLaunched: $0.launch) },
            conditions: conditions)
    }
}

/// A line that reports conditions of a device.
struct ConditionsLine: Record, DeviceLine {
    var conditions: ConditionsReport = ConditionsReport()
    var device = ""

    enum Constraints {
        static let device: Constraint<String> = .identifier
    }
}

/// A device after a line about it.
struct DeviceLineDocument: Record {
    var device = ""
    /// The version of the device: the number of its events.
    var version = 0

    init(_ device: String, _ aggregate: Aggregate<LifecycleMachine>) {
        self.device = device
        version = aggregate.eventCount
    }
}
