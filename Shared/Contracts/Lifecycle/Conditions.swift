public import Records

/// The conditions of a device. In a change, a missing member did not change.
public struct Conditions: Record, Equatable {
    public var battery: Battery?
    /// The iBeacons in range.
    public var beacons: [Beacon]?
    public var bluetooth: Switch?
    /// Do Not Disturb, until iOS 14.
    public var doNotDisturb: DoNotDisturb?
    /// The Focus of the user, from iOS 15.
    public var focus: Focus?
    public var location: Location?
    public var locked: Bool?
    public var lowPowerMode: Bool?
    public var memoryPressure: MemoryPressure?
    public var network: Network?
    public var thermal: ThermalState?
    /// The cell tower, as `country-network-area`.
    public var tower: String?

    enum Constraints {
        static let beacons: Constraint<[Beacon]> = .count(0...20)
        static let tower: Constraint<String> = .text(1...64)
    }

    /// The conditions of a new device: unlocked, on Wi-Fi, with Bluetooth on, fully charged and unplugged.
    public static var atRegistration: Conditions {
        var conditions = Conditions()
        conditions.battery = Battery()
        conditions.bluetooth = .on
        conditions.lowPowerMode = false
        conditions.network = Network()
        conditions.locked = false
        conditions.memoryPressure = .normal
        conditions.thermal = .nominal
        return conditions
    }

    /// Returns these conditions with the members of a report in place of their own.
    public func merging(_ report: Conditions) -> Conditions {
        var merged = self
        merged.battery = report.battery ?? battery
        merged.lowPowerMode = report.lowPowerMode ?? lowPowerMode
        merged.network = report.network ?? network
        merged.locked = report.locked ?? locked
        merged.memoryPressure = report.memoryPressure ?? memoryPressure
        merged.thermal = report.thermal ?? thermal
        merged.location = report.location ?? location
        merged.beacons = report.beacons ?? beacons
        merged.bluetooth = report.bluetooth ?? bluetooth
        merged.doNotDisturb = report.doNotDisturb ?? doNotDisturb
        merged.focus = report.focus ?? focus
        merged.tower = report.tower ?? tower
        return merged
    }
}

/// Do Not Disturb, with its setting "Silence". From iOS 15 it is a Focus.
public enum DoNotDisturb: String, WireEnum {
    case off
    /// Alerts are silent while the device is locked.
    case whileLocked
    /// Alerts are always silent.
    case always
}

/// A Focus, such as Work or Do Not Disturb: it silences alerts (Apple, "Managing notifications").
public struct Focus: Record, Equatable {
    /// The apps whose alerts break through.
    public var allowedApps: Defaulted<[String]> = []
    public var state: Switch = .off
    /// Whether time-sensitive notifications break through.
    public var timeSensitive: Defaulted<Switch> = .on

    enum Constraints {
        static let allowedApps: Constraint<[String]> = .apps
    }
}

/// The battery of a device.
public struct Battery: Record, Equatable {
    public var charging: Defaulted<Bool> = false
    /// The charge, from 0 to 1.
    public var level = 1.0

    enum Constraints {
        static let level: Constraint<Double> = .range(0...1)
    }
}

/// The network connection of a device.
public struct Network: Record, Equatable {
    /// `NWPath.isConstrained`: Low Data Mode.
    public var constrained: Defaulted<Bool> = false
    /// `NWPath.isExpensive`.
    public var expensive: Defaulted<Bool> = false
    public var kind: NetworkKind = .wifi
    public var shape: NetworkShape?
}

/// The location of a device (WGS 84).
public struct Location: Record, Equatable {
    public var accuracyMeters: Defaulted<Double> = 0.0
    public var latitude = 0.0
    public var longitude = 0.0

    enum Constraints {
        static let accuracyMeters: Constraint<Double> = .range(0...100_000)
        static let latitude: Constraint<Double> = .range(-90...90)
        static let longitude: Constraint<Double> = .range(-180...180)
    }
}

/// The kind of a network connection.
public enum NetworkKind: String, WireEnum { case none, cellular, wifi }

/// The bandwidth and latency profile of transfers.
public enum NetworkShape: String, WireEnum {
    case edge
    case thirdGeneration = "3g"
    case lte
    case fifthGeneration = "5g"
    case wifi, lossy
}

/// The memory pressure of a device.
public enum MemoryPressure: String, WireEnum { case normal, warning, critical }

/// `ProcessInfo.ThermalState`.
public enum ThermalState: String, WireEnum { case nominal, fair, serious, critical }
