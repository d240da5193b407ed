public import Records
public import Timeline

/// The conditions of a device that it reports to `lifecycle`.
public struct Surroundings: Sendable, Equatable {
    public var batteryPercent: Int
    public var isCharging: Bool
    /// Whether a Focus silences alerts.
    public var isFocused: Bool
    /// Whether Do Not Disturb silences alerts while the device is locked, until iOS 14.
    public var isUndisturbed = false
    public var isLowPowerMode: Bool
    public var network: Network
    public var place: Person.Place
    public var isLocked: Bool

    /// `NWPath`'s interface, with the shape of the traffic over it.
    public enum Network: String, Sendable { case none, lte, wifi }

    /// The document of `PATCH /v1/devices/{device}/conditions`.
    public var document: JSON {
        var network: JSON = ["kind": "none"]
        switch self.network {
        case .none: break
        case .lte: network = ["kind": "cellular", "expensive": true, "shape": "lte"]
        case .wifi: network = ["kind": "wifi", "shape": "wifi"]
        }
        return [
            "battery": ["level": .double(Double(batteryPercent) / 100), "charging": .bool(isCharging)],
            "doNotDisturb": isUndisturbed ? "whileLocked" : "off",
            "focus": ["state": isFocused ? "on" : "off"], "lowPowerMode": .bool(isLowPowerMode), "network": network,
            "locked": .bool(isLocked),
            "location": [
                "latitude": .double(Double(place.latitude) / 1_000_000),
                "longitude": .double(Double(place.longitude) / 1_000_000), "accuracyMeters": 20,
            ],
        ]
    }
}

extension Person {
    /// Returns the conditions at a user time. The battery discharges by day and charges at night. The network depends
    /// on the place; the tunnel has none.
    public func surroundings(at instant: Instant, isLocked: Bool) -> Surroundings {
        let phase = phase(at: instant)
        let minute = minute(of: instant)
        let atNight = max(5, 100 - (sleeps - wakes) * drain / 60)
        var battery = max(5, 100 - (minute - wakes) * drain / 60)
        if phase == .asleep {
            let asleep = minute >= sleeps ? minute - sleeps : minute + 1440 - sleeps
            battery = min(100, atNight + asleep * 50 / 60)
        }
        let network: Surroundings.Network =
            switch phase {
            case .asleep, .atHome, .atWork: .wifi
            case .commuting: .lte
            case .inTunnel: .none
            }
        return Surroundings(
            batteryPercent: battery, isCharging: phase == .asleep,
            isFocused: phase == .asleep || usesFocus && phase == .atWork,
            isLowPowerMode: usesLowPowerMode && battery < 20 && phase != .asleep, network: network,
            place: place(at: minute, phase), isLocked: isLocked)
    }

    private func place(at minute: Int, _ phase: Phase) -> Place {
        switch phase {
        case .asleep, .atHome: return home
        case .atWork: return work
        case .commuting, .inTunnel:
            let toWork = minute < returns
            let done = minute - (toWork ? leaves : returns)
            let (from, to) = toWork ? (home, work) : (work, home)
            return Place(
                latitude: from.latitude + (to.latitude - from.latitude) * done / commute,
                longitude: from.longitude + (to.longitude - from.longitude) * done / commute)
        }
    }
}
