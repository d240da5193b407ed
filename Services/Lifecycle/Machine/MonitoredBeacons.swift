public import Contracts
public import Records
public import Timeline

/// A monitored beacon region, and whether the device is in the range of its beacons.
public struct MonitoredBeaconRegion: Record, Equatable {
    /// The time since which a beacon is in range of a device outside, or none in range of a device inside; nil otherwise.
    public var beyondSince: Instant?
    /// Whether the device is inside; nil until it is known, and while Bluetooth is off.
    public var isInside: Bool?
    public var region: BeaconRegion

    init(_ region: BeaconRegion) { self.region = region }

    /// The time at which the crossing counts, unless the device returns before. An entry counts at once.
    var crossingDue: Instant? {
        guard let beyondSince, let isInside else { return nil }
        return isInside ? beyondSince + LifecyclePolicy.beaconAbsence : beyondSince
    }

    /// Forgets the side.
    mutating func loseSide() { (isInside, beyondSince) = (nil, nil) }

    /// Updates the region with the beacons in range. The first report only sets the side.
    mutating func track(_ conditions: Conditions, at time: Instant) {
        guard conditions.bluetooth != .off else { return loseSide() }
        guard let isInRange = conditions.isInRange(of: region.beacon) else { return }
        guard let isInside else {
            self.isInside = isInRange
            return
        }
        beyondSince = isInRange != isInside ? beyondSince ?? time : nil
    }
}

extension Conditions {
    /// Returns whether one of the beacons is in range; nil if the device has not reported beacons.
    func isInRange(of identity: BeaconIdentity) -> Bool? { beacons?.contains(where: identity.matches) }
}
