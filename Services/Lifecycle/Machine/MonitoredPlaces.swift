public import Contracts
public import Records
public import Timeline

/// A region that an app monitors, and on which side of its boundary the device is.
public struct MonitoredRegion: Record, Equatable {
    public var region = Region()
    /// Nil until a location was known.
    public var isInside: Bool?
    /// Since when the device is beyond the boundary by the cushion; nil where it is not.
    public var beyondSince: Instant?

    public init() {}

    init(_ region: Region) { self.region = region }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("beyondSince", &beyondSince)
        fields.omittable("isInside", &isInside)
        fields.field("region", &region)
    }

    /// When the crossing counts, unless the device comes back before.
    var crossingDue: Instant? { beyondSince.map { $0 + LifecyclePolicy.regionDwell } }

    /// Takes in where the device is. The first time tells only on which side it is.
    mutating func track(_ location: Location, at time: Instant) {
        let distance = Place(location).distance(to: Place(region))
        guard let isInside else {
            isInside = distance <= region.radiusMeters
            return
        }
        let cushion = max(LifecyclePolicy.regionCushion, location.accuracyMeters)
        // A small region has no place that is so far inside: there half the radius will do (our choice).
        let isBeyond =
            isInside
            ? distance >= region.radiusMeters + cushion
            : distance <= region.radiusMeters - min(cushion, region.radiusMeters / 2)
        beyondSince = isBeyond ? beyondSince ?? time : nil
    }
}

/// Significant changes of the location, as one app is told of them.
public struct SignificantChanges: Record, Equatable {
    /// Where the device was when the app was told last, or when it first asked.
    public var location: Location?
    public var tower: String?
    /// When the app was told last.
    public var reportedAt: Instant?
    /// Since when the device is far from there; nil where it is not.
    public var farSince: Instant?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("farSince", &farSince)
        fields.omittable("location", &location)
        fields.omittable("reportedAt", &reportedAt)
        fields.omittable("tower", &tower)
    }

    /// When the app is told; nil where the device has not moved far.
    var reportDue: Instant? {
        guard let farSince else { return nil }
        return max(farSince, reportedAt.map { $0 + LifecyclePolicy.significantPause } ?? farSince)
    }

    /// Takes in where the device is. What is known for the first time is where it began.
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
    /// When the system pauses location updates that may be paused, unless the device moves before.
    var pauseDue: Instant? {
        request.pausesLocationUpdatesAutomatically ? movedAt + LifecyclePolicy.pauseOfUpdates : nil
    }

    /// Takes in where the device is.
    mutating func track(_ location: Location, at time: Instant) {
        if let movedTo {
            let movement = max(LifecyclePolicy.movement, location.accuracyMeters)
            guard Place(movedTo).distance(to: Place(location)) >= movement else { return }
        }
        movedTo = location
        movedAt = time
    }
}

/// What an app has cost its device. All figures are our choice, of the order that published measurements have; they are there to be
/// compared with one another.
public struct EnergyLedger: Record, Equatable {
    /// Millijoules for monitoring regions by GPS, up to ``meteredAt``.
    public var monitoring = 0
    /// Millijoules for location updates, up to ``meteredAt``.
    public var updates = 0
    /// Millijoules for wakes and for being told of significant changes.
    public var wakes = 0
    /// What its handlers loaded, in bytes, as the device says.
    public var bytesReceived = 0
    /// What it costs per second at present, in milliwatts.
    public var monitoringMilliwatts = 0
    public var updatesMilliwatts = 0
    public var meteredAt = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("bytesReceived", &bytesReceived)
        fields.field("meteredAt", &meteredAt)
        fields.field("monitoring", &monitoring)
        fields.field("monitoringMilliwatts", &monitoringMilliwatts)
        fields.field("updates", &updates)
        fields.field("updatesMilliwatts", &updatesMilliwatts)
        fields.field("wakes", &wakes)
    }

    /// The GPS is on now and then.
    static let monitoringPower = 20
    /// The GPS is on.
    static let updatesPower = 150
    /// The radio hears a new tower anyway.
    static let significantChangeCost = 50
    /// A wake of any kind: starting the processor, and the app where it has no process.
    static let wakeCost = 500

    private static let mostBytes = 1 << 60

    /// Adds the bytes of a device's report. The sum stops at an exbibyte, so repeated reports can't overflow it.
    mutating func receive(_ bytes: Int) {
        bytesReceived = min(bytesReceived + min(max(0, bytes), Self.mostBytes), Self.mostBytes)
    }

    /// What it has cost by a moment.
    public func metered(at now: Instant) -> EnergyLedger {
        let span = Int(max(.zero, now - meteredAt).milliseconds)
        var ledger = self
        ledger.monitoring += monitoringMilliwatts * span / 1000
        ledger.updates += updatesMilliwatts * span / 1000
        ledger.meteredAt = now
        return ledger
    }
}
