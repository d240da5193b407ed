import Contracts
import Foundation
import Machines
import PushCore
import ServiceKit
import Synchronization

/// The connections of the devices of a fleet, which one stream holds.
///
/// It follows the events of the devices. It connects a device that joins the fleet or gets a network. A device with its own
/// connection keeps it, and is connected again after that.
final class FleetConnections: Sendable {
    /// The events that change the fleet or the connection of a device.
    static let types: Set<String> = [
        PushEvent.DeviceUpdated.type, PushEvent.DeviceRemoved.type, PushEvent.ConditionsChanged.type,
        PushEvent.DeviceConnected.type, PushEvent.DeviceDisconnected.type,
    ]
    /// The most devices that are connected or disconnected at a time.
    private static let width = 64

    private struct Device {
        var hasNetwork = true
        /// The kind of its connection; nil if it is unknown or there is none.
        var kind: ConnectionKind?
        /// The connection that this stream holds or opens.
        var own: UUID?
        /// Whether a further attempt is needed if the present one fails. An event that follows a refusal may be read before
        /// the answer.
        var triesAgain = false
    }

    private enum Work {
        case connect(AggregateKey)
        case release(PushStore.Held)
    }

    let fleet: String
    private let connections: Connections
    private let requester: Requester
    private let devices = Mutex<[AggregateKey: Device]>([:])
    private let work = AsyncStream<Work>.makeStream()

    init(of fleet: String, _ connections: Connections, by requester: Requester) {
        self.fleet = fleet
        self.connections = connections
        self.requester = requester
    }

    var count: Int { devices.withLock { $0.count } }

    /// Adds a device by its state.
    func add(_ key: AggregateKey, _ state: PushMachine) {
        guard state.isKnown, state.fleet == fleet else { return }
        let hasNetwork = state.conditions.poweredOn && state.conditions.network != .none
        devices.withLock { $0[key] = Device(hasNetwork: hasNetwork, kind: state.connection?.kind) }
    }

    /// Applies the next event.
    ///
    /// - Returns: whether it delivers a notification to this stream.
    func takes(_ event: Event) -> Bool {
        let key = event.key
        if event.type == PushEvent.NotificationDelivered.type {
            return devices.withLock { devices in devices[key].map { $0.kind == nil || $0.kind == .fleet } ?? false }
        }
        guard Self.types.contains(event.type),
            let word = try? PushEvent(type: event.type, version: event.version, data: event.data)
        else { return false }
        switch word {
        case .deviceUpdated(let data): data.fleet == fleet ? join(key) : leave(key)
        case .deviceRemoved: leave(key)
        case .conditionsChanged(let data):
            change(key) { device in
                device.hasNetwork = data.poweredOn && data.network != .none
                return device.hasNetwork && device.kind == nil
            }
        case .deviceConnected(let data):
            change(key) { device in
                device.kind = data.kind
                return false
            }
        case .deviceDisconnected(let data): ended(data, of: key)
        default: break
        }
        return false
    }

    private func join(_ key: AggregateKey) {
        let isNew = devices.withLock { devices in
            guard devices[key] == nil else { return false }
            devices[key] = Device()
            return true
        }
        if isNew { work.continuation.yield(.connect(key)) }
    }

    private func leave(_ key: AggregateKey) {
        if let own = devices.withLock({ $0.removeValue(forKey: key)?.own }) { release(key, own) }
    }

    private func ended(_ data: PushEvent.DeviceDisconnected, of key: AggregateKey) {
        let own = devices.withLock { devices -> UUID? in
            devices[key]?.kind = nil
            guard let own = devices[key]?.own, own.lowercased == data.connection else { return nil }
            devices[key]?.own = nil
            return own
        }
        if let own { release(key, own) }
        switch data.cause {
        // Another connection follows a replaced one, and a network follows the others.
        case .replaced, .networkLost, .powerLost, .deregistered: return
        case .closed, .pollMissed, .processLost: change(key) { _ in true }
        }
    }

    private func release(_ key: AggregateKey, _ own: UUID) {
        work.continuation.yield(.release(PushStore.Held(key: key, connection: own)))
    }

    /// Changes a device of the fleet.
    ///
    /// - Parameter body: returns whether the device needs a connection.
    private func change(_ key: AggregateKey, _ body: (inout Device) -> Bool) {
        let needs = devices.withLock { devices in devices[key].map { _ in body(&devices[key]!) } ?? false }
        if needs { work.continuation.yield(.connect(key)) }
    }

    // MARK: The work

    /// Keeps the devices connected while the body runs, and disconnects them again.
    ///
    /// - Parameter fail: ends the body after a connection has failed, so that the client opens the stream again.
    func hold(orEnd fail: @escaping @Sendable () -> Void, _ body: () async throws -> Void) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do { try await self.follow() } catch is CancellationError {} catch { fail() }
                }
                try await body()
                group.cancelAll()
            }
        } catch {
            await releaseAll()
            throw error
        }
        await releaseAll()
    }

    /// Connects all devices that have a network.
    func connectAll() async throws {
        let keys = devices.withLock { devices in
            devices.filter { $0.value.hasNetwork && ($0.value.kind == nil || $0.value.kind == .fleet) }.map(\.key)
        }
        try await atOnce(keys) { try await self.connect($0) }
    }

    private func releaseAll() async {
        let held = devices.withLock { devices in
            devices.compactMap { key, device in device.own.map { PushStore.Held(key: key, connection: $0) } }
        }
        try? await atOnce(held) { await self.connections.leave($0, .closed, self.requester) }
    }

    /// Connects and releases devices as events require it, until cancellation.
    private func follow() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var running = 0
            for await next in work.stream {
                if running == Self.width {
                    try await group.next()
                    running -= 1
                }
                running += 1
                group.addTask {
                    switch next {
                    case .connect(let key): try await self.connect(key)
                    case .release(let held): await self.connections.leave(held, .closed, self.requester)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func connect(_ key: AggregateKey) async throws {
        let connection = UUID.random()
        let isNeeded = devices.withLock { devices in
            guard devices[key]?.own == nil else {
                devices[key]?.triesAgain = true
                return false
            }
            devices[key]?.own = connection
            devices[key]?.triesAgain = false
            return devices[key] != nil
        }
        guard isNeeded else { return }
        let held = PushStore.Held(key: key, connection: connection)
        let isConnected = try await connections.join(held, by: requester)
        // The device may have left the fleet meanwhile.
        let (isWanted, triesAgain) = devices.withLock { devices in
            guard let device = devices[key], device.own == connection else { return (false, false) }
            if !isConnected { devices[key]?.own = nil }
            return (true, device.triesAgain && !isConnected)
        }
        if triesAgain { work.continuation.yield(.connect(key)) }
        if isConnected, !isWanted { await connections.leave(held, .closed, requester) }
    }

    private func atOnce<Item: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, item) in items.enumerated() {
                if index >= Self.width { try await group.next() }
                group.addTask { try await body(item) }
            }
            try await group.waitForAll()
        }
    }
}
