import Contracts
import Machines
import OrderedCollections
import Timeline

// Beacon regions. They share the identifiers and the limit of the circular regions, and their crossings wake an app in the
// same way (Apple, "Region Monitoring and iBeacon"). Without Bluetooth the side is unknown, and the next known side is no
// crossing (secondary sources).
extension Decision<LifecycleMachine> {
    /// Monitors a beacon region. It replaces a region with the same identifier.
    mutating func monitor(_ app: String, _ identifier: String, _ region: BeaconRegion) throws(LifecycleRefusal) {
        let record = try running(app)
        try require(.beaconRegions)
        guard region.beacon.isComplete else { throw .beaconMajorMissing }
        guard record.locationAuthorization.allowsUpdates else { throw .locationDenied }
        try requireRoom(for: identifier, in: record)
        guard record.beaconRegions[identifier]?.region != region else { return }
        emit(.beaconRegionMonitored(.init(app: app, identifier: identifier, region: region)))
    }

    /// Throws if an app monitors its maximum of regions.
    func requireRoom(for identifier: String, in record: InstalledApp) throws(LifecycleRefusal) {
        guard
            record.regions[identifier] != nil || record.beaconRegions[identifier] != nil
                || record.regions.count + record.beaconRegions.count < LifecyclePolicy.regionsPerApp
        else {
            throw .regionMonitoringFailure("the app monitors \(LifecyclePolicy.regionsPerApp) regions already")
        }
    }

    /// Emits the crossings of an app's beacon regions that are due.
    mutating func crossBeaconRegions(_ app: String, _ record: InstalledApp) {
        for (identifier, monitored) in record.beaconRegions {
            guard let due = monitored.crossingDue, due <= now, let wasInside = monitored.isInside else { continue }
            let isWanted = wasInside ? monitored.region.notifyOnExit : monitored.region.notifyOnEntry
            cross(app, identifier, entered: !wasInside, isWanted: isWanted)
        }
    }

    /// Calls or wakes each app with a beacon region around the device that asks for its state. Call it when the display
    /// goes on (Apple, `CLBeaconRegion.notifyEntryStateOnDisplay`).
    mutating func tellStatesOnDisplay() {
        for (app, record) in state.apps {
            for (identifier, monitored) in record.beaconRegions
            where monitored.isInside == true && monitored.region.notifyEntryStateOnDisplay {
                let callbacks = told(.didDetermineState, app)
                emit(.regionStateDetermined(.init(app: app, callbacks: callbacks, identifier: identifier)))
                if callbacks.isEmpty { wake(app, for: .region, request: identifier, handlers: [.didDetermineState]) }
            }
        }
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.BeaconRegionMonitored, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.regions.removeValue(forKey: event.identifier)
        apps[app]?.beaconRegions[event.identifier] = MonitoredBeaconRegion(event.region)
        if isPoweredOn { apps[app]?.track(conditions, at: time) }
    }
}
