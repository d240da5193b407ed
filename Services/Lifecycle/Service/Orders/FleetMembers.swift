import Contracts
import LifecycleCore
import Runtime

/// The devices of a fleet at one position of the log. Each stream has its own, so a slow stream also sees a device join
/// and leave at the right event.
///
/// The start of the stream reads all of them, with a few queries for each partition. Events update them from then on.
struct FleetMembers: Sendable {
    /// The events that change the fleet of a device. The stream must read them.
    static let types: Set<String> = [
        LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type, LifecycleEvent.DeviceDeregistered.type,
    ]

    let fleet: String
    private var keys: Set<AggregateKey> = []

    init(of fleet: String) { self.fleet = fleet }

    var count: Int { keys.count }

    func contains(_ key: AggregateKey) -> Bool { keys.contains(key) }

    /// Applies the next event of the stream's partitions.
    mutating func note(_ event: Event) {
        guard Self.types.contains(event.type),
            let word = try? LifecycleEvent(type: event.type, version: event.version, data: event.data)
        else { return }
        note(word, of: event.key)
    }

    /// Returns the devices of a fleet in the partitions of `places`, as they were at these offsets.
    ///
    /// The stored states may be newer than the offsets. The events since then show which devices to correct.
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
            // After the states, so that it includes the devices that changed between the two queries.
            for (key, word) in try await states.former(in: partition, upTo: offset, types: types.sorted()) {
                switch word {
                case .event(let event): members.note(event, of: key)
                case .state(let state): members.set(key, state.registration?.fleet)
                // The device registered later. It has no earlier orders, so it may already count as a member.
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
