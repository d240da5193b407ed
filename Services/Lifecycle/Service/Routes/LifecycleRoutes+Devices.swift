import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Synchronization

// Devices: registration, conditions, power, settings.
extension LifecycleRoutes {
    func addDevices(_ table: inout RouteTable) {
        let device = "/v1/devices/{device}"
        table.add(
            .put, device, "Registers a device and returns its token; updates a registered device without a token",
            access: .caller, request: Registration.self, response: DeviceDocument.self, status: .created, further: [.ok]
        ) { request, context in
            let document = try await request.document(as: Registration.self)
            return try await register(try document.within(try context.requireCaller()), request, context)
        }
        table.add(
            .get, device, "Returns the whole state of a device", access: .caller, response: LifecycleMachine.self,
            problems: .ofDevice(), example: Example.device
        ) { request, context in
            let found = try await registered(request, context)
            return Response(json: found.state.jsonBytes, etag: found.etag)
        }
        table.add(
            .delete, device, "Deregisters a device", access: .caller, status: .noContent, problems: .ofDevice()
        ) { try await submit(.deregister, $0, $1, status: .noContent) }
        table.add(
            .patch, device + "/conditions", "Reports some or all conditions of a device", access: .caller,
            request: ConditionsReport.self, response: LifecycleMachine.self, problems: .ofDevice()
        ) { request, context in
            let conditions = try await request.document(as: ConditionsReport.self)
            return try await submit(.updateConditions(conditions), request, context)
        }
        table.add(
            .post, device + "/power", "Boots, reboots or switches off a device", access: .caller, request: Power.self,
            response: LifecycleMachine.self, problems: .ofDevice()
        ) { request, context in
            try await submit(.power(try await request.document(as: Power.self).event), request, context)
        }
        table.add(
            .post, device + "/interruptions", "Reports a call, a text, an email or another interruption",
            access: .caller, request: Interruption.self, response: LifecycleMachine.self,
            problems: .ofDevice(.deviceOff)
        ) { request, context in
            try await submit(.interrupt(try await request.document(as: Interruption.self).kind), request, context)
        }
        table.add(
            .put, device + "/settings", "Changes the settings of a device; missing members keep their value",
            access: .caller, request: DeviceSettings.self, response: LifecycleMachine.self,
            problems: .ofDevice(.restricted)
        ) { request, context in
            let settings = try await request.document(as: DeviceSettings.self)
            return try await submit(.changeDeviceSettings(settings), request, context)
        }
        table.add(
            .get, device + "/app-switcher", "Returns the app switcher, most recent app first", access: .caller,
            response: Switcher.self, problems: .ofDevice(), example: Example.switcher
        ) { request, context in
            let found = try await registered(request, context)
            return Response(Switcher(found.state), etag: found.etag)
        }
    }

    /// The token is created after the commit, so neither the log nor the idempotency table stores it. It is shown once.
    /// A client that loses it requests another one.
    private func register(
        _ registration: Registration, _ request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let device = try context.parameters.identifier("device")
        let made = Registered()
        let response = try await submit(.register(registration), request, context, registers: true) {
            aggregate, events in
            let document = DeviceDocument(device, aggregate)
            made.take(events.contains(where: \.isRegistration) ? document : nil)
            return document.jsonBytes
        }
        guard var document = made.document else { return response }
        document.token = try await tokens.device(
            device, fleet: registration.fleet ?? "", position: response.position ?? 0)
        var created = Response(document, status: .created)
        created.headers[.position] = response.headers[.position]
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
    fileprivate var isRegistration: Bool {
        if case .deviceRegistered = self { true } else { false }
    }
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
