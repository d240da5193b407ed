public import Records

/// A report of some conditions of a device. A missing member does not change, also within a condition.
public struct ConditionsReport: Record, Equatable {
    public var battery: BatteryReport?
    /// The iBeacons in range; at most 20 (our choice).
    public var beacons: [Beacon]?
    public var bluetooth: Switch?
    public var location: Location?
    public var locked: Bool?
    public var lowPowerMode: Bool?
    public var memoryPressure: MemoryPressure?
    public var network: NetworkReport?
    public var thermal: ThermalState?
    public var tower: String?

    enum Constraints {
        static let beacons: Constraint<[Beacon]> = .count(0...20)
        static let tower: Constraint<String> = .text(1...64)
    }

    /// Returns the reported conditions. Members that a reported condition lacks have their current values.
    public func completed(by current: Conditions) -> Conditions {
        var conditions = Conditions()
        conditions.battery = battery.map { $0.completed(by: current.battery ?? Battery()) }
        conditions.lowPowerMode = lowPowerMode
        conditions.network = network.map { $0.completed(by: current.network ?? Network()) }
        conditions.locked = locked
        conditions.memoryPressure = memoryPressure
        conditions.thermal = thermal
        conditions.location = location
        conditions.beacons = beacons
        conditions.bluetooth = bluetooth
        conditions.tower = tower
        return conditions
    }
}

/// A report of the battery. A missing member does not change.
public struct BatteryReport: Record, Equatable {
    public var charging: Bool?
    public var level: Double?

    enum Constraints {
        static let level: Constraint<Double> = .range(0...1)
    }

    func completed(by current: Battery) -> Battery {
        var battery = current
        battery.level = level ?? battery.level
        battery.charging = charging ?? battery.charging
        return battery
    }
}

/// A report of the network. A missing member does not change.
public struct NetworkReport: Record, Equatable {
    public var constrained: Bool?
    public var expensive: Bool?
    public var kind: NetworkKind?
    public var shape: NetworkShape?

    func completed(by current: Network) -> Network {
        var network = current
        network.kind = kind ?? network.kind
        network.expensive = expensive ?? network.expensive
        network.constrained = constrained ?? network.constrained
        network.shape = shape ?? network.shape
        return network
    }
}
