import Contracts
import Machines
import OrderedCollections
import Timeline

// Regions and significant location changes. Neither needs the mode `location`, and both continue without a process.
extension Decision<LifecycleMachine> {
    /// Monitors a region. It replaces a region with the same identifier.
    mutating func monitor(_ app: String, _ identifier: String, _ region: Region) throws(LifecycleRefusal) {
        let record = try running(app)
        guard state.registration?.gps != false else { throw .unavailableOnDevice("regions need GPS") }
        guard record.locationAuthorization.allowsUpdates else { throw .locationDenied }
        guard region.radiusMeters <= LifecyclePolicy.regionRadius else {
            throw .regionMonitoringFailure("the radius is more than \(Int(LifecyclePolicy.regionRadius)) m")
        }
        try requireRoom(for: identifier, in: record)
        guard record.regions[identifier]?.region != region else { return }
        emit(.regionMonitored(.init(app: app, identifier: identifier, region: region)))
    }

    /// Stops monitoring a region of either kind.
    mutating func stopMonitoring(_ app: String, _ identifier: String) throws(LifecycleRefusal) {
        let record = try running(app)
        guard record.regions[identifier] != nil || record.beaconRegions[identifier] != nil else { return }
        emit(.regionUnmonitored(.init(app: app, identifier: identifier)))
    }

    mutating func monitorSignificantChanges(_ app: String) throws(LifecycleRefusal) {
        let record = try running(app)
        guard state.registration?.cellular != false else {
            throw .unavailableOnDevice("significant changes need a cellular radio")
        }
        guard record.locationAuthorization.allowsUpdates else { throw .locationDenied }
        if record.significantChanges == nil { emit(.significantChangesMonitored(.init(app: app))) }
    }

    mutating func stopMonitoringSignificantChanges(_ app: String) throws(LifecycleRefusal) {
        guard try running(app).significantChanges != nil else { return }
        emit(.significantChangesUnmonitored(.init(app: app)))
    }

    /// Emits the crossings, changes of conditions and significant changes that are due.
    mutating func tellOfPlaces() {
        let apps = state.known
        for (index, app) in state.apps.keys.enumerated() where apps[index].hasPlaces {
            let record = apps[index]
            for (identifier, region) in record.regions {
                guard let due = region.crossingDue, due <= now, let wasInside = region.isInside else { continue }
                let isWanted = wasInside ? region.region.notifyOnExit : region.region.notifyOnEntry
                cross(app, identifier, entered: !wasInside, isWanted: isWanted)
            }
            crossBeaconRegions(app, record)
            changeConditions(app)
            guard let due = record.significantChangeDue, due <= now else { continue }
            let callbacks = told(.didUpdateLocations, app)
            emit(.significantChangeReported(.init(app: app, callbacks: callbacks)))
            if callbacks.isEmpty { wake(app, for: .significantChange, request: nil) }
        }
    }

    mutating func cross(_ app: String, _ identifier: String, entered: Bool, isWanted: Bool) {
        let handler: Callback = entered ? .didEnterRegion : .didExitRegion
        let callbacks = isWanted ? told(handler, app) : []
        emit(.regionCrossed(.init(app: app, callbacks: callbacks, entered: entered, identifier: identifier)))
        if isWanted, callbacks.isEmpty { wake(app, for: .region, request: identifier, handlers: [handler]) }
    }

    /// Returns the callback for an app in use, which needs no wake.
    func told(_ handler: Callback, _ app: String) -> [Callback] {
        guard let record = state.apps[app], record.isInUse, record.locationAuthorization.allowsUpdates else {
            return []
        }
        return [handler]
    }
}

extension LifecycleMachine {
    /// Updates all monitoring with the current location.
    mutating func trackPlaces(at time: Instant) {
        guard isPoweredOn else { return }
        for (id, app) in apps {
            var app = app
            app.significantChanges?.track(conditions, at: time)
            app.track(conditions, at: time)
            if let location = conditions.location {
                app.activities[ActivityKind.location.rawValue]?.track(location, at: time)
            }
            if app != apps[id] { apps[id] = app }
        }
    }

    /// Clears pending crossings and changes, because the location is unknown without power.
    mutating func loseTrack() {
        for (id, app) in apps {
            for region in app.regions.keys { apps[id]?.regions[region]?.beyondSince = nil }
            for region in app.beaconRegions.keys { apps[id]?.beaconRegions[region]?.beyondSince = nil }
            apps[id]?.changeConditions { ($0.next, $0.nextSince) = (nil, nil) }
            if app.significantChanges != nil { apps[id]?.significantChanges?.farSince = nil }
        }
    }

    mutating func apply(_ event: LifecycleEvent.RegionMonitored, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.beaconRegions.removeValue(forKey: event.identifier)
        apps[app]?.regions[event.identifier] = MonitoredRegion(event.region)
        if isPoweredOn { apps[app]?.track(conditions, at: time) }
    }

    mutating func apply(_ event: LifecycleEvent.SignificantChangesMonitored, at time: Instant) {
        guard let app = event.app else { return }
        var changes = SignificantChanges()
        changes.reportedAt = apps[app]?.significantChangeAt
        changes.track(conditions, at: time)
        apps[app]?.significantChanges = changes
    }

    mutating func apply(_ event: LifecycleEvent.SignificantChangeReported, at time: Instant) {
        guard let app = event.app else { return }
        apps[app]?.significantChanges?.report(conditions, at: time)
        apps[app]?.significantChangeAt = time
        apps[app]?.energy.wakes += EnergyLedger.significantChangeCost
    }

    /// Meters each app whose power changes.
    mutating func meterEnergy(at time: Instant) {
        for index in apps.values.indices {
            let apps = known
            let isIdle = !apps[index].hasPlaces && apps[index].activities.isEmpty
            let monitoring =
                !isIdle && isPoweredOn && apps[index].monitorsPlaces ? EnergyLedger.monitoringPower : 0
            let isUpdated = !isIdle && isPoweredOn && apps[index].activities[ActivityKind.location.rawValue] != nil
            let updates = isUpdated ? EnergyLedger.updatesPower : 0
            var energy = apps[index].energy
            guard (monitoring, updates) != (energy.monitoringMilliwatts, energy.updatesMilliwatts) else { continue }
            energy = energy.metered(at: time)
            energy.monitoringMilliwatts = monitoring
            energy.updatesMilliwatts = updates
            self.apps.values[index].energy = energy
        }
    }
}

extension InstalledApp {
    /// Whether the app monitors regions, conditions or significant changes.
    var hasPlaces: Bool {
        !regions.isEmpty || !beaconRegions.isEmpty || !monitors.isEmpty || significantChanges != nil
    }

    /// The time of the next crossing, change of a condition or significant change.
    var placesDue: Instant? {
        let crossings = regions.values.compactMap(\.crossingDue) + beaconRegions.values.compactMap(\.crossingDue)
        let others = monitors.values.compactMap(\.changeDue) + [significantChangeDue].compactMap(\.self)
        return (crossings + others).min()
    }
}
