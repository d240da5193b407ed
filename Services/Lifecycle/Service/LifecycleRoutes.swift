import Contracts
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import ServiceKit

/// The REST calls of `lifecycle`. Each decodes, makes one command, and encodes.
struct LifecycleRoutes: Sendable {
    let commands: Commands<LifecycleMachine>

    func add(to table: inout RouteTable) {
        addDevices(&table)
        addApps(&table)
        addWork(&table)
    }

    private func addDevices(_ table: inout RouteTable) {
        let device = "/v1/devices/{device}"
        table.add(
            .put, device, "Registers a device, or describes it anew", access: .caller,
            request: Registration.self,
            response: LifecycleMachine.self, status: .created
        ) { request, context in
            let registration = try await request.document(as: Registration.self)
            return try await submit(.register(registration), request, context, status: .created, registers: true)
        }
        table.add(
            .get, device, "The whole state of a device", access: .caller, response: LifecycleMachine.self
        ) { request, context in
            let found = try await registered(request, context)
            return Response(json: found.state.jsonBytes, etag: found.etag)
        }
        table.add(.delete, device, "Deregisters a device", access: .caller, status: .noContent) {
            try await submit(.deregister, $0, $1, status: .noContent)
        }
        table.add(
            .patch, device + "/conditions", "Reports conditions, any subset", access: .caller,
            request: Conditions.self, response: LifecycleMachine.self
        ) { request, context in
            let conditions = try await request.document(as: Conditions.self)
            return try await submit(.updateConditions(conditions), request, context)
        }
        table.add(
            .post, device + "/power", "Boots, reboots or switches off", access: .caller, request: Power.self,
            response: LifecycleMachine.self
        ) { request, context in
            try await submit(.power(try await request.document(as: Power.self).event), request, context)
        }
        table.add(
            .put, device + "/settings", "The user's settings for the whole device", access: .caller,
            request: Settings.self, response: LifecycleMachine.self
        ) { request, context in
            let settings = try await request.document(as: Settings.self)
            return try await submit(.changeSettings(app: nil, settings), request, context)
        }
        table.add(
            .get, device + "/app-switcher", "The app switcher, most recent first", access: .caller,
            response: Switcher.self
        ) { request, context in
            let found = try await registered(request, context)
            return Response(Switcher(found.state), etag: found.etag)
        }
    }

    private func addApps(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, app, "Installs an app", access: .caller, request: Manifest.self, response: AppDocument.self,
            status: .created
        ) { request, context in
            let manifest = try await request.document(as: Manifest.self)
            return try await submit(request, context, status: .created) { .install(app: $0, manifest) }
        }
        table.add(.get, app, "An app", access: .caller, response: InstalledApp.self) { request, context in
            let app = try context.parameters.identifier("app")
            let found = try await registered(request, context)
            guard let record = found.state.apps[app] else { throw LifecycleRefusal.appNotInstalled(app).problem }
            return Response(record, etag: found.etag)
        }
        table.add(.delete, app, "Uninstalls an app", access: .caller, status: .noContent) {
            try await submit($0, $1, status: .noContent) { .uninstall(app: $0) }
        }
        table.add(
            .put, app + "/settings", "The user's settings for an app", access: .caller, request: Settings.self,
            response: AppDocument.self
        ) { request, context in
            let settings = try await request.document(as: Settings.self)
            return try await submit(request, context) { .changeSettings(app: $0, settings) }
        }
        table.add(
            .post, app + "/transitions", "Something happens to an app", access: .caller,
            request: Transition.self, response: AppDocument.self
        ) { request, context in
            let event = try await request.document(as: Transition.self).event
            return try await submit(request, context) { .transition(app: $0, event) }
        }
        let entry = "/v1/devices/{device}/app-switcher/{app}"
        table.add(.post, entry, "Taps an app in the switcher", access: .caller, response: AppDocument.self) {
            try await submit($0, $1) { .transition(app: $0, .open) }
        }
        table.add(.delete, entry, "Swipes an app away", access: .caller, response: AppDocument.self) {
            try await submit($0, $1) { .transition(app: $0, .swipe) }
        }
    }

    private func addWork(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .post, app + "/callbacks/{callback}/completion", "A handler returned", access: .caller,
            request: CallbackCompletion.self, response: AppDocument.self
        ) { request, context in
            let name = try context.parameters.identifier("callback")
            guard let callback = Callback(rawValue: name) else {
                throw Problem.notFound.because("No callback is called \(name).")
            }
            let completion = try await request.document(as: CallbackCompletion.self)
            return try await submit(request, context) { .completeCallback(app: $0, callback, completion) }
        }
        table.add(
            .post, app + "/tasks", "Begins a background task", access: .caller, request: TaskRequest.self,
            response: TaskDocument.self, status: .created
        ) { request, context in
            let task = try await request.document(as: TaskRequest.self)
            return try await submit(request, context, status: .created) { .beginTask(app: $0, task) }
        }
        table.add(
            .delete, app + "/tasks/{task}", "Ends a background task", access: .caller, status: .noContent
        ) {
            request, context in
            let task = try context.parameters.identifier("task")
            return try await submit(request, context, status: .noContent) { .endTask(app: $0, task: task) }
        }
        table.add(
            .post, app + "/wakes/{wake}/completion", "The handler of a wake is done", access: .caller,
            request: WakeCompletion.self, response: AppDocument.self
        ) { request, context in
            let wake = try context.parameters.identifier("wake")
            let completion = try await request.document(as: WakeCompletion.self)
            return try await submit(request, context) { .completeWake(app: $0, wake: wake, completion) }
        }
    }

    /// The state of a registered device and its version.
    private func registered(
        _ request: Request, _ context: ServiceContext
    ) async throws -> (state: LifecycleMachine, etag: ETag) {
        let id = try context.parameters.identifier("device")
        guard let found = try await commands.read(.device(id), request, context)?.aggregate,
            found.state.registration != nil
        else { throw LifecycleRefusal.deviceNotRegistered.problem }
        return (found.state, ETag(version: found.eventCount))
    }

    private func submit(
        _ request: Request, _ context: ServiceContext, status: HTTPResponse.Status = .ok,
        _ command: (String) -> LifecycleCommand
    ) async throws -> Response {
        let app = try context.parameters.identifier("app")
        return try await submit(command(app), request, context, app: app, status: status)
    }

    private func submit(
        _ command: LifecycleCommand, _ request: Request, _ context: ServiceContext, app: String? = nil,
        status: HTTPResponse.Status = .ok, registers: Bool = false
    ) async throws -> Response {
        let device = try context.parameters.identifier("device")
        return try await commands.submit(
            command, to: .device(device), request, context, status: status, registers: registers
        ) { aggregate, events in document(aggregate.state, app, events) }
    }
}

/// What a command answers: the begun task, the app with the callbacks delivered, or the device.
private func document(_ state: LifecycleMachine, _ app: String?, _ events: [LifecycleEvent]) -> [UInt8] {
    guard let app else { return state.jsonBytes }
    for case .taskBegun(let begun) in events { return TaskDocument(begun).jsonBytes }
    return AppDocument(app, state.apps[app], events).jsonBytes
}
