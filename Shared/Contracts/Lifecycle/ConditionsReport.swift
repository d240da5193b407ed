public import Records

/// A report of some conditions of a device. A missing member does not change, also within a condition.
public struct ConditionsReport: Record, Equatable {
    public var battery: BatteryReport?
    /// The iBeacons in range; at most 20 (our choice).
    public var beacons: [Beacon]?
    public var bluetooth: Switch?
    public var doNotDisturb: DoNotDisturb?
    public var focus: FocusReport?
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
        conditions.doNotDisturb = doNotDisturb
        conditions.focus = focus.map { $0.completed(by: current.focus ?? Focus()) }
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

/// A report of the Focus of the user. A missing member does not change.
public struct FocusReport: Record, Equatable {
    public var allowedApps: [String]?
    public var state: Switch?
    public var timeSensitive: Switch?

    enum Constraints {
        static let allowedApps: Constraint<[String]> = .apps
    }

    func completed(by current: Focus) -> Focus {
        var focus = current
        focus.allowedApps = allowedApps ?? focus.allowedApps
        focus.state = state ?? focus.state
        focus.timeSensitive = timeSensitive ?? focus.timeSensitive
        return focus
    }
}

extension Constraint where T == [String] {
    /// At most 32 bundle identifiers, to limit the size of the device's state.
    static var apps: Constraint<[String]> {
        Constraint(
            "must be at most 32 bundle identifiers",
            keywords: [
                ("maxItems", 32), ("items", ["type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"]),
            ]
        ) { $0.count <= 32 && $0.allSatisfy { isIdentifier($0) } }
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
