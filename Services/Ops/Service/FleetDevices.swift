import Contracts

/// The devices that are or were in a fleet. Events add devices.
struct FleetDevices: Sendable {
    /// The events that put a device into a fleet.
    static let types: Set<String> = [LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type]

    let fleet: String
    private var keys: Set<AggregateKey>

    init(_ fleet: String, _ keys: Set<AggregateKey>) {
        self.fleet = fleet
        self.keys = keys
    }

    func contains(_ key: AggregateKey) -> Bool { keys.contains(key) }

    /// Adds the device of an event that puts it into the fleet.
    mutating func note(_ event: Event) {
        guard Self.types.contains(event.type),
            let word = try? LifecycleEvent(type: event.type, version: event.version, data: event.data)
        else { return }
        let registration: Registration? =
            switch word {
            case .deviceRegistered(let event): event.registration
            case .deviceUpdated(let event): event.registration
            default: nil
            }
        if registration?.fleet == fleet { keys.insert(event.key) }
    }
}
