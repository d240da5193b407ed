public import Records

/// What surrounds a device. As a change those that are others now; what is missing stays as it was.
public struct Conditions: Record, Equatable {
    public var battery: Battery?
    public var lowPowerMode: Bool?
    public var network: Network?
    public var locked: Bool?
    public var memoryPressure: MemoryPressure?
    public var thermal: ThermalState?
    public var location: Location?
    /// The cell, as `country-network-area`.
    public var tower: String?

    public init() {}

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

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("battery", &battery)
        fields.omittable("location", &location)
        fields.omittable("locked", &locked)
        fields.omittable("lowPowerMode", &lowPowerMode)
        fields.omittable("memoryPressure", &memoryPressure)
        fields.omittable("network", &network)
        fields.omittable("thermal", &thermal)
        fields.omittable("tower", &tower, .text(1...64))
    }
}

/// The battery of a device.
public struct Battery: Record, Equatable {
    /// From 0 to 1.
    public var level = 1.0
    public var charging = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("charging", &charging)
        fields.field("level", &level, .range(0...1))
    }
}

/// How a device is connected.
public struct Network: Record, Equatable {
    public var kind: NetworkKind = .wifi
    /// `NWPath.isExpensive`.
    public var expensive = false
    /// `NWPath.isConstrained`: Low Data Mode.
    public var constrained = false
    public var shape: NetworkShape?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("constrained", &constrained)
        fields.defaulted("expensive", &expensive)
        fields.field("kind", &kind)
        fields.omittable("shape", &shape)
    }
}

/// Where a device is (WGS 84).
public struct Location: Record, Equatable {
    public var latitude = 0.0
    public var longitude = 0.0
    public var accuracyMeters = 0.0

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("accuracyMeters", &accuracyMeters, .range(0...100_000))
        fields.field("latitude", &latitude, .range(-90...90))
        fields.field("longitude", &longitude, .range(-180...180))
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
