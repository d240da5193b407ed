import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleCore
import Machines
import OrderedCollections
import Records
import ServiceKit
import Synchronization

// Devices: registration, conditions, power, settings.
extension LifecycleRoutes {
    func addDevices(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}"
        table.add(
            .put, path, "Registers a device and returns its token; updates a registered device without a token",
            body: Registration.self, .status(.created, .ok)
        ) { try await register($0.within(try $1.context.requireCaller()), $1) }
        table.add(
            .get, path, "Returns the whole state of a device", .refuses(.ofDevice()), .example(Example.device)
        ) { call in
            let found = try await registered(call)
            return Reply(found.state, etag: found.etag)
        }
        table.add(.delete, path, "Deregisters a device", .refuses(.ofDevice())) { call in
            try await commands.submit(.deregister, call)
        }
        table.add(
            .post, path + "/erasure",
            "Erases the history of a device: the payloads and tokens in the log. Deregisters it first if it is registered",
            .status(.accepted)
        ) { call in
            let device = try call.identifier("device")
            var answer = try await commands.submit(
                .erase, call, audit: try call.audit(.deviceErased, of: "device:" + device)
            ) { _, _ in ErasureDocument(device: device, progress: "/v1/devices/\(device)/erasure") }
            answer.status = .accepted
            return answer
        }
        table.add(
            .patch, path + "/conditions", "Reports some or all conditions of a device", body: ConditionsReport.self,
            .refuses(.ofDevice(.unsupported(.lowPowerMode, on: .ios7)))
        ) { conditions, call in try await device(after: .updateConditions(conditions), call) }
        table.add(
            .post, path + "/power", "Boots, reboots or switches off a device", body: Power.self, .refuses(.ofDevice())
        ) { power, call in try await device(after: .power(power.event), call) }
        table.add(
            .post, path + "/interruptions", "Reports a call, a text, an email or another interruption",
            body: Interruption.self, .refuses(.ofDevice(.deviceOff))
        ) { interruption, call in try await device(after: .interrupt(interruption.kind), call) }
        table.add(
            .put, path + "/settings", "Changes the settings of a device; missing members keep their value",
            body: DeviceSettings.self, .refuses(.ofDevice(.restricted, .unsupported(.backgroundAppRefresh, on: .ios6)))
        ) { settings, call in try await device(after: .changeDeviceSettings(settings), call) }
        table.add(
            .get, path + "/app-switcher", "Returns the app switcher, most recent app first",
            .refuses(.ofDevice(.unsupported(.appSwitcherSnapshots, on: .ios6))),
            .example(Example.switcher)
        ) { call in
            let found = try await registered(call)
            try require(.appSwitcherSnapshots, on: found.state)
            return Reply(Page(switcher: found.state), etag: found.etag)
        }
    }

    /// The token is created after the commit, so neither the log nor the idempotency table stores it. It is shown once.
    /// A client that loses it requests another one.
    private func register(_ registration: Registration, _ call: Call) async throws -> Reply<DeviceDocument> {
        let device = try call.identifier("device")
        let made = Registered()
        var updated = try await commands.submit(.register(registration), call, registers: true) { aggregate, events in
            let document = DeviceDocument(device, aggregate)
            made.take(events.contains(where: \.isRegistration) ? document : nil)
            // A client whose stream is open takes over a device that has become built-in, when it connects again.
            let isBuiltIn = registration.simulate?.answersItself == true
            if isBuiltIn, events.contains(where: \.isUpdate), aggregate.state.client == nil { streams.end(device) }
            return document
        }
        updated.status = .ok
        guard var document = made.document else { return updated }
        document.token = try await tokens.device(
            device, fleet: registration.fleet ?? "", position: updated.headers.position ?? 0)
        var created = Reply(document)
        created.headers[.position] = updated.headers[.position]
        return created
    }
}

/// The answer of a registration, copied out of its batch. A repeated batch overwrites it.
private final class Registered: Sendable {
    private let made = Mutex<DeviceDocument?>(nil)
    var document: DeviceDocument? { made.withLock { $0 } }
    func take(_ document: DeviceDocument?) { made.withLock { $0 = document } }
}

extension LifecycleEvent {
    var isRegistration: Bool {
        if case .deviceRegistered = self { true } else { false }
    }

    fileprivate var isUpdate: Bool { if case .deviceUpdated = self { true } else { false } }
}

extension Registration {
    /// A device or fleet token registers devices in its own fleet, even if the document names none.
    ///
    /// - Throws: `forbidden` if the document names another fleet.
    fileprivate func within(_ caller: Caller) throws(Problem) -> Registration {
        let own: String?
        switch caller {
        case .operator: return self
        case .fleet(let id): own = id
        case .device(_, let id): own = id.isEmpty ? nil : id
        }
        guard fleet == nil || fleet == own else {
            throw .forbidden.with(
                detail: "The token belongs to another fleet. Omit `fleet`, or name the token's fleet.")
        }
        var registration = self
        registration.fleet = own
        return registration
    }
}
