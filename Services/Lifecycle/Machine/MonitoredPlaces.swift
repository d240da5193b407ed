public import Contracts
public import Records
public import Timeline

/// A monitored region, with the side of its boundary on which the device is.
public struct MonitoredRegion: Record, Equatable {
    /// The time since which the device is on the other side of the boundary, beyond the cushion; nil if it is not.
    public var beyondSince: Instant?
    /// Whether the device is inside; nil until a location is known.
    public var isInside: Bool?
    public var region: Region

    init(_ region: Region) { self.region = region }

    /// The time at which the crossing counts, unless the device returns before.
    var crossingDue: Instant? { beyondSince.map { $0 + LifecyclePolicy.regionDwell } }

    /// Forgets the side.
    mutating func loseSide() { (isInside, beyondSince) = (nil, nil) }

    /// Updates the region with a location. The first location only sets the side.
    mutating func track(_ location: Location, at time: Instant) {
        let contains = region.contains(location, wasInside: isInside)
        guard let isInside else {
            isInside = contains
            return
        }
        beyondSince = contains != isInside ? beyondSince ?? time : nil
    }
}

/// The monitoring of significant location changes by an app.
public struct SignificantChanges: Record, Equatable {
    /// The time since which the device is far from the location; nil if it is not.
    public var farSince: Instant?
    /// The location at the last report, or at the start.
    public var location: Location?
    /// The time of the last report.
    public var reportedAt: Instant?
    /// The cell tower at the last report, or at the start.
    public var tower: String?

    /// Returns the time of the next report; nil if the device has not moved far.
    ///
    /// - Parameter pause: the minimum time between reports.
    func reportDue(pause: Interval) -> Instant? {
        guard let farSince else { return nil }
        return max(farSince, reportedAt.map { $0 + pause } ?? farSince)
    }

    /// Updates the monitoring with the conditions. The first known location and tower are the start.
    mutating func track(_ conditions: Conditions, at time: Instant) {
        location = location ?? conditions.location
        tower = tower ?? conditions.tower
        var isFar = tower != nil && conditions.tower != nil && tower != conditions.tower
        if let location, let current = conditions.location {
            isFar = isFar || Place(location).distance(to: Place(current)) >= LifecyclePolicy.significantDistance
        }
        farSince = isFar ? farSince ?? time : nil
    }

    mutating func report(_ conditions: Conditions, at time: Instant) {
        location = conditions.location
        tower = conditions.tower
        reportedAt = time
        farSince = nil
    }
}

extension Activity {
    /// The time at which the system pauses location updates, unless the device moves before; nil if it may not.
    var pauseDue: Instant? {
        request.pausesLocationUpdatesAutomatically ? movedAt + LifecyclePolicy.pauseOfUpdates : nil
    }

    /// Updates the last movement with a location.
    mutating func track(_ location: Location, at time: Instant) {
        if let movedTo {
            let movement = max(LifecyclePolicy.movement, location.accuracyMeters)
            guard Place(movedTo).distance(to: Place(location)) >= movement else { return }
        }
        movedTo = location
        movedAt = time
    }
}

/// The energy that an app has used. All figures are our choice, in the order of published measurements. Use them only
/// for comparison.
public struct EnergyLedger: Record, Equatable {
    /// Millijoules for launches by the user and returns to the screen.
    public var launches = 0
    /// The bytes that its handlers loaded, as the device reports.
    public var bytesReceived = 0
    /// The time until which the sums are complete.
    public var meteredAt = Instant.epoch
    /// Millijoules for monitoring regions by GPS, up to ``meteredAt``.
    public var monitoring = 0
    /// The bytes that the device loaded to locate itself for crossings of its regions.
    public var monitoringBytes = 0
    /// The current power of monitoring and of updates, in milliwatts.
    public var monitoringMilliwatts = 0
    /// Millijoules for location updates, up to ``meteredAt``.
    public var updates = 0
    public var updatesMilliwatts = 0
    /// Millijoules for the starts of wakes and for reports of significant changes.
    public var wakes = 0

    /// The GPS is on sometimes.
    static let monitoringPower = 20
    /// The GPS is on.
    static let updatesPower = 150
    /// The radio finds a new tower anyway.
    static let significantChangeCost = 50
    /// The data of satellites and access points for one crossing (our choice). "Updating an application in the
    /// background" (source document) says that region monitoring raises the use of data.
    static let crossingBytes = 4096

    private static let mostBytes = 1 << 60

    /// Adds reported bytes. The sum stops at an exbibyte, so it cannot overflow.
    mutating func receive(_ bytes: Int) {
        bytesReceived = min(bytesReceived + min(max(0, bytes), Self.mostBytes), Self.mostBytes)
    }

    /// Returns the energy used until a time.
    public func metered(at now: Instant) -> EnergyLedger {
        let span = Int(max(.zero, now - meteredAt).milliseconds)
        var ledger = self
        ledger.monitoring += monitoringMilliwatts * span / 1000
        ledger.updates += updatesMilliwatts * span / 1000
        ledger.meteredAt = now
        return ledger
    }
}
