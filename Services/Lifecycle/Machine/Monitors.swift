public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// A `CLMonitor` of an app. Its conditions outlive the process.
public struct Monitor: Record, Equatable {
    /// The conditions by identifier.
    public var conditions: OrderedDictionary<String, MonitoredCondition> = [:]
    /// Whether the current process of the app has opened the monitor.
    public var isOpen = false

    /// The time of the next change of a condition.
    var changeDue: Instant? { conditions.values.compactMap(\.changeDue).min() }
}

/// A condition of a monitor, with its state.
public struct MonitoredCondition: Record, Equatable {
    public var condition: MonitorCondition
    /// Whether an event waits for the monitor. The condition is not monitored while an event waits (Apple,
    /// `CLMonitor.requestMonitorWithConfiguration:completion:`).
    public var isPending = false
    /// The state that the device observes, if it is another one.
    public var next: MonitoringState?
    /// The time since which the device observes ``next``.
    public var nextSince: Instant?
    /// The state of the last event.
    public var state: MonitoringState

    init(_ condition: MonitorCondition) {
        self.condition = condition
        state = condition.assuming
    }

    /// The time at which the new state counts, unless it changes before. A state counts at once if none was known.
    var changeDue: Instant? {
        guard let next, let nextSince else { return nil }
        if state == .unknown || next == .unknown { return nextSince }
        if condition.circle != nil { return nextSince + LifecyclePolicy.regionDwell }
        return next == .unsatisfied ? nextSince + LifecyclePolicy.beaconAbsence : nextSince
    }

    /// Updates the condition with the device's surroundings.
    mutating func track(_ conditions: Conditions, at time: Instant) {
        if let observed = observe(conditions) { observe(observed, at: time) }
    }

    /// Takes an observed state.
    mutating func observe(_ observed: MonitoringState, at time: Instant) {
        guard !isPending else { return }
        guard observed != state else {
            (next, nextSince) = (nil, nil)
            return
        }
        guard observed != next else { return }
        (next, nextSince) = (observed, time)
    }

    /// Returns the state; nil if nothing is known of it.
    private func observe(_ conditions: Conditions) -> MonitoringState? {
        if let circle = condition.circle {
            guard let location = conditions.location else { return nil }
            let wasInside = state == .unknown ? nil : state == .satisfied
            return Region(circle).contains(location, wasInside: wasInside) ? .satisfied : .unsatisfied
        }
        guard let beacon = condition.beacon else { return nil }
        if conditions.bluetooth == .off { return .unknown }
        return conditions.isInRange(of: beacon).map { $0 ? .satisfied : .unsatisfied }
    }
}

extension Region {
    init(_ circle: Circle) {
        self.init(latitude: circle.latitude, longitude: circle.longitude, radiusMeters: circle.radiusMeters)
    }

    /// Returns whether a location is inside. A device that crosses the boundary must go beyond it by the cushion.
    func contains(_ location: Location, wasInside: Bool?) -> Bool {
        let distance = Place(location).distance(to: Place(self))
        guard let wasInside else { return distance <= radiusMeters }
        let cushion = max(LifecyclePolicy.regionCushion, location.accuracyMeters)
        if wasInside { return distance < radiusMeters + cushion }
        // A small region has no point that far inside, so half the radius is enough (our choice).
        return distance <= radiusMeters - min(cushion, radiusMeters / 2)
    }
}
