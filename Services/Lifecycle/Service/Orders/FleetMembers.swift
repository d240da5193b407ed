import Contracts
import LifecycleMachine
import Runtime

/// The devices of a fleet, as they are at one place of the log: a stream's own, so that each stream sees a device come and go
/// where the log has it, however far behind it reads.
///
/// They are read once, when the stream begins: a few queries for each partition, however many devices there are. From there on
/// the events tell.
struct FleetMembers: Sendable {
    /// The events that tell which fleet a device is in. They must be on the stream's way.
    static let types: Set<String> = [
        LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type, LifecycleEvent.DeviceDeregistered.type,
    ]

    let fleet: String
    private var keys: Set<AggregateKey> = []

    init(of fleet: String) { self.fleet = fleet }

    var count: Int { keys.count }

    func contains(_ key: AggregateKey) -> Bool { keys.contains(key) }

    /// Takes in the next event of the stream's partitions, where it moves a device.
    mutating func note(_ event: Event) {
        guard Self.types.contains(event.type),
            let word = try? LifecycleEvent(type: event.type, version: event.version, data: event.data)
        else { return }
        note(word, of: event.key)
    }

    /// The devices of a fleet in the partitions of `places`, as they were at these offsets.
    ///
    /// What the states say is the present, which may be later; whoever was moved since is put back.
    static func load(
        of fleet: String, at places: [Int: Int], _ states: StoredStates<LifecycleMachine>
    ) async throws -> FleetMembers {
        var members = FleetMembers(of: fleet)
        for (partition, offset) in places.sorted(by: { $0.key < $1.key }) {
            var last: AggregateKey?
            repeat {
                let page = try await states.page(of: partition, mentioning: fleet, after: last)
                for (key, state) in page.states { members.set(key, state.registration?.fleet) }
                last = page.last
            } while last != nil
            // After the states: who is moved between the two is among them.
            for (key, word) in try await states.former(in: partition, upTo: offset, types: types.sorted()) {
                switch word {
                case .event(let event): members.note(event, of: key)
                case .state(let state): members.set(key, state.registration?.fleet)
                // It begins later, where it may as well be in the fleet already: there are no orders of it before.
                case .nothing: break
                }
            }
        }
        return members
    }

    private mutating func note(_ event: LifecycleEvent, of key: AggregateKey) {
        switch event {
        case .deviceRegistered(let data): set(key, data.registration.fleet)
        case .deviceUpdated(let data): set(key, data.registration.fleet)
        case .deviceDeregistered: keys.remove(key)
        default: break
        }
    }

    private mutating func set(_ key: AggregateKey, _ fleet: String?) {
        if fleet == self.fleet, key.device != nil { keys.insert(key) } else { keys.remove(key) }
    }
}
