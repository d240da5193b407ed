public import Records

/// What surrounds a device. As a change those that are others now; what is missing stays as it was.
public struct Conditions: Record, Equatable {
    public var battery: Battery?
    public var location: Location?
    public var locked: Bool?
    public var lowPowerMode: Bool?
    public var memoryPressure: MemoryPressure?
    public var network: Network?
    public var thermal: ThermalState?
    /// The cell, as `country-network-area`.
    public var tower: String?

    enum Constraints {
        static let tower: Rule<String> = .text(1...64)
    }

    /// A device as it is registered: unlocked, on Wi-Fi, fully charged and unplugged.
    public static var atRegistration: Conditions {
        var conditions = Conditions()
        conditions.battery = Battery()
        conditions.lowPowerMode = false
        conditions.network = Network()
        conditions.locked = false
        conditions.memoryPressure = .normal
        conditions.thermal = .nominal
        return conditions
    }

    /// These conditions with a report laid over them.
    public func merging(_ report: Conditions) -> Conditions {
        var merged = self
        merged.battery = report.battery ?? battery
        merged.lowPowerMode = report.lowPowerMode ?? lowPowerMode
        merged.network = report.network ?? network
        merged.locked = report.locked ?? locked
        merged.memoryPressure = report.memoryPressure ?? memoryPressure
        merged.thermal = report.thermal ?? thermal
        merged.location = report.location ?? location
        merged.tower = report.tower ?? tower
        return merged
    }
}

/// The battery of a device.
public struct Battery: Record, Equatable {
    public var charging: Defaulted<Bool> = false
    /// From 0 to 1.
    public var level = 1.0

    enum Constraints {
        static let level: Rule<Double> = .range(0...1)
    }
}

/// How a device is connected.
public struct Network: Record, Equatable {
    /// `NWPath.isConstrained`: Low Data Mode.
    public var constrained: Defaulted<Bool> = false
    /// `NWPath.isExpensive`.
    public var expensive: Defaulted<Bool> = false
    public var kind: NetworkKind = .wifi
    public var shape: NetworkShape?
}

/// Where a device is (WGS 84).
public struct Location: Record, Equatable {
    public var accuracyMeters: Defaulted<Double> = 0.0
    public var latitude = 0.0
    public var longitude = 0.0

    enum Constraints {
        static let accuracyMeters: Rule<Double> = .range(0...100_000)
        static let latitude: Rule<Double> = .range(-90...90)
        static let longitude: Rule<Double> = .range(-180...180)
    }
}

public enum NetworkKind: String, Word { case none, cellular, wifi }

/// What transfers over the network are shaped like.
public enum NetworkShape: String, Word {
    case edge
    case thirdGeneration = "3g"
    case lte
    case fifthGeneration = "5g"
    case wifi, lossy
}

public enum MemoryPressure: String, Word { case normal, warning, critical }

/// `ProcessInfo.ThermalState`.
public enum ThermalState: String, Word { case nominal, fair, serious, critical }
