import Contracts
import Machines
import OrderedCollections
import Timeline

// The accuracy of location. With reduced accuracy an app gets only an approximate location, a few times an hour (Apple,
// `kCLLocationAccuracyReduced`), and can't use region monitoring (Apple, `CLLocationManager.accuracyAuthorization`). That
// beacons and monitors are affected too is from secondary sources. The app may start monitoring: it begins to work with
// full accuracy (our choice).
extension Decision<LifecycleMachine> {
    /// Throws if the user can't choose an accuracy now. Temporary full accuracy needs an app in use.
    func requireAccuracy(_ accuracy: LocationAccuracy, _ app: String) throws(LifecycleRefusal) {
        guard accuracy != .full else { return }
        try require(.reducedAccuracy)
        if accuracy == .temporaryFull, state.apps[app]?.isInUse != true { throw .appNotInUse }
    }
}

extension LifecycleMachine {
    /// Changes the accuracy of an app. Its regions lose their sides, or get new ones.
    mutating func apply(_ accuracy: LocationAccuracy, to app: String, at time: Instant) {
        guard let record = apps[app], record.locationAccuracy != accuracy else { return }
        apps[app]?.locationAccuracy = accuracy
        if isPoweredOn { apps[app]?.track(conditions, at: time) }
    }
}

extension InstalledApp {
    /// Updates regions, beacon regions and monitors. With reduced accuracy nothing is known of them.
    mutating func track(_ conditions: Conditions, at time: Instant) {
        guard locationAccuracy.isFull else { return loseSides(at: time) }
        for region in beaconRegions.keys { beaconRegions[region]?.track(conditions, at: time) }
        changeConditions { $0.track(conditions, at: time) }
        guard let location = conditions.location else { return }
        for region in regions.keys { regions[region]?.track(location, at: time) }
    }

    private mutating func loseSides(at time: Instant) {
        for region in regions.keys { regions[region]?.loseSide() }
        for region in beaconRegions.keys { beaconRegions[region]?.loseSide() }
        changeConditions { $0.observe(.unknown, at: time) }
    }

    /// The time of the next report of a significant change.
    var significantChangeDue: Instant? {
        significantChanges?.reportDue(
            pause: locationAccuracy.isFull ? LifecyclePolicy.significantPause : LifecyclePolicy.reducedPause)
    }

    /// Whether the app gets a visit now. With reduced accuracy, visits come no more often than locations (our choice).
    func takesVisit(at now: Instant) -> Bool {
        guard !locationAccuracy.isFull, let visitReportedAt else { return true }
        return now - visitReportedAt >= LifecyclePolicy.reducedPause
    }
}
