public import Records

/// An iBeacon in range of a device: `CLBeacon`.
public struct Beacon: Record, Equatable {
    public var major = 0
    public var minor = 0
    public var uuid = ""

    enum Constraints {
        static let major: Constraint<Int> = .beaconNumber
        static let minor: Constraint<Int> = .beaconNumber
        static let uuid: Constraint<String> = .beaconUUID
    }
}

/// The beacons that belong together: `CLBeaconIdentityConstraint`. A missing number matches every number.
public struct BeaconIdentity: Record, Equatable {
    public var major: Int?
    /// It needs a major number.
    public var minor: Int?
    public var uuid = ""

    enum Constraints {
        static let major: Constraint<Int> = .beaconNumber
        static let minor: Constraint<Int> = .beaconNumber
        static let uuid: Constraint<String> = .beaconUUID
    }

    /// Whether a minor number has its major number. Without it, Apple has no initializer.
    public var isComplete: Bool { minor == nil || major != nil }

    /// Whether a beacon is one of these. Letters of a UUID match in both cases.
    public func matches(_ beacon: Beacon) -> Bool {
        uuid.lowercased() == beacon.uuid.lowercased() && major ?? beacon.major == beacon.major
            && minor ?? beacon.minor == beacon.minor
    }
}

/// The range of beacons that an app monitors: `CLBeaconRegion`.
public struct BeaconRegion: Record, Equatable {
    public var beacon = BeaconIdentity()
    /// Whether the app is called when the display goes on inside the region.
    public var notifyEntryStateOnDisplay: Defaulted<Bool> = false
    public var notifyOnEntry: Defaulted<Bool> = true
    public var notifyOnExit: Defaulted<Bool> = true
}

extension Constraint where T == Int {
    /// The numbers of a beacon have 16 bits (Apple, `CLBeacon`).
    fileprivate static var beaconNumber: Constraint<Int> { .range(0...65_535) }
}

extension Constraint where T == String {
    /// A UUID in its text form.
    fileprivate static var beaconUUID: Constraint<String> {
        let pattern = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
        return Constraint("must be a UUID", keywords: [("pattern", .string(pattern))]) { text in
            let groups = text.split(separator: "-", omittingEmptySubsequences: false)
            return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
                && groups.joined().utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
                }
        }
    }
}
