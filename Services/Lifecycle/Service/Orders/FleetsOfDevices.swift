import Contracts
import Records
import Synchronization

/// Which fleet a device is in, kept in memory: the database is asked once a device, and events tell what changes.
final class FleetsOfDevices: Sendable {
    /// So many devices are remembered; then it begins anew.
    static let limit = 500_000

    private struct Known {
        let fleet: String?
        /// The offset of the event that told it, or of the state that was read.
        let offset: Int
    }

    private let known = Mutex<[String: Known]>([:])
    private let look: @Sendable (String) async throws -> (fleet: String?, offset: Int)?

    /// - Parameter look: reads the device's state: its fleet, and the offset of its last event.
    init(look: @escaping @Sendable (String) async throws -> (fleet: String?, offset: Int)?) { self.look = look }

    /// Takes in an event, where it is one that moves a device. Streams read the log at different places: the later word holds.
    func note(_ event: Event) {
        guard let device = event.key.device, let fleet = fleet(told: event) else { return }
        remember(device, fleet, event.offset)
    }

    /// The fleet of a device; nil where it is in none.
    func fleet(of device: String) async throws -> String? {
        if let known = known.withLock({ $0[device] }) { return known.fleet }
        let found = try await look(device)
        remember(device, found?.fleet, found?.offset ?? 0)
        return known.withLock { $0[device]?.fleet }
    }

    private func remember(_ device: String, _ fleet: String?, _ offset: Int) {
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
            if let former = known[device], former.offset > offset { return }
            known[device] = Known(fleet: fleet, offset: offset)
        }
    }

    /// What an event says of its device's fleet; nil where it says nothing.
    private func fleet(told event: Event) -> String?? {
        switch event.type {
        case LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type,
            LifecycleEvent.DeviceDeregistered.type:
            break
        default: return nil
        }
        switch try? LifecycleEvent(type: event.type, version: event.version, data: event.data) {
        case .deviceRegistered(let data): return .some(data.registration.fleet)
        case .deviceUpdated(let data): return .some(data.registration.fleet)
        case .deviceDeregistered: return .some(nil)
        default: return nil
        }
    }
}
