public import Contracts
import Records

/// A kind of events for which the code of an app waits, beside pushes, refreshes and transfers.
public enum Interest: String, Sendable, CaseIterable {
    /// The user arrives at places and leaves them.
    case visits
    /// A beacon at home, as a region.
    case beacons
    /// The same beacon, as a condition of a monitor. It needs the monitor.
    case monitor, condition
    /// A restored central manager for an accessory.
    case bluetooth
    /// Step counts of HealthKit.
    case health
    /// A health research task.
    case research

    /// The feature that the generation needs.
    public var feature: Feature {
        switch self {
        case .visits: .visits
        case .beacons: .beaconRegions
        case .monitor, .condition: .locationMonitors
        case .bluetooth: .bluetoothRestoration
        case .health: .healthDelivery
        case .research: .healthResearchTasks
        }
    }

    /// The beacon at the home of each user.
    static let beaconUUID: JSON = "6f6d6573-6265-4163-8f6e-000000000001"
    /// The type of the samples.
    static let sampleType = "stepCount"
    /// The identifier of the research task.
    static let researchTask = "com.example.fitness.research"

    /// Returns the request that starts the wait.
    func call(from device: String, _ app: String) -> Call {
        let root = "/v1/devices/{device}/apps/{app}"
        switch self {
        case .visits: return Call(.lifecycle, "PUT", root + "/visits", [device, app])
        case .beacons:
            return Call(
                .lifecycle, "PUT", root + "/beacon-regions/{region}", [device, app, "home"],
                ["beacon": ["uuid": Self.beaconUUID]])
        case .monitor: return Call(.lifecycle, "PUT", root + "/monitors/{monitor}", [device, app, "places"])
        case .condition:
            return Call(
                .lifecycle, "PUT", root + "/monitors/{monitor}/conditions/{condition}",
                [device, app, "places", "home"], ["beacon": ["uuid": Self.beaconUUID]])
        case .bluetooth:
            return Call(
                .lifecycle, "PUT", root + "/bluetooth-managers/{role}", [device, app, "central"],
                ["restoreIdentifier": "accessory"])
        case .health:
            return Call(
                .lifecycle, "PUT", root + "/health-deliveries/{type}", [device, app, Self.sampleType],
                ["frequency": "immediate"])
        case .research:
            return Call(
                .fetch, "POST", root + "/task-requests", [device, app],
                ["identifier": .string(Self.researchTask), "kind": "healthResearch"])
        }
    }
}

/// An event of the surroundings for which apps may wait.
public enum Occurrence: Sendable, Equatable {
    /// The user arrived at a place, or left it.
    case visit(isArrival: Bool)
    /// The beacon at home came into range, or went out of range.
    case beacon(isInRange: Bool)
    /// The accessory of an app has a new value.
    case accessory(app: String)
    /// A new step count was saved.
    case sample

    /// Returns the request that reports the event.
    func call(from device: String) -> Call {
        let root = "/v1/devices/{device}"
        switch self {
        case .visit(let isArrival):
            return Call(
                .lifecycle, "POST", root + "/visits", [device], ["kind": isArrival ? "arrival" : "departure"])
        case .beacon(let isInRange):
            let beacon: JSON = ["uuid": Interest.beaconUUID, "major": 1, "minor": 1]
            return Call(
                .lifecycle, "PATCH", root + "/conditions", [device], ["beacons": .array(isInRange ? [beacon] : [])])
        case .accessory(let app):
            return Call(
                .lifecycle, "POST", root + "/apps/{app}/bluetooth-events", [device, app], ["event": "valueUpdated"])
        case .sample:
            return Call(
                .lifecycle, "POST", root + "/health-samples", [device], ["sampleType": .string(Interest.sampleType)])
        }
    }
}
