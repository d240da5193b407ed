public import Records

/// `CLMonitoringState`: whether a condition of a monitor is true.
public enum MonitoringState: String, WireEnum { case unknown, satisfied, unsatisfied }

/// A circle on the ground: `CLMonitor.CircularGeographicCondition`.
public struct Circle: Record, Equatable {
    public var latitude = 0.0
    public var longitude = 0.0
    /// The radius in metres.
    public var radiusMeters = 1.0

    enum Constraints {
        static let latitude: Constraint<Double> = .range(-90...90)
        static let longitude: Constraint<Double> = .range(-180...180)
        static let radiusMeters: Constraint<Double> = .range(1...1_000_000)
    }
}

/// A condition that a `CLMonitor` monitors: the device is in a circle, or in range of a beacon. It has one of them.
public struct MonitorCondition: Record, Equatable {
    /// The state at the start, as in `add(_:identifier:assuming:)`. If it is wrong, an event corrects it.
    public var assuming: Defaulted<MonitoringState> = MonitoringState.unknown
    public var beacon: BeaconIdentity?
    public var circle: Circle?
}
