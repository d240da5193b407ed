import Contracts
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Runtime
import ServiceKit

/// The REST calls of `lifecycle`. Each decodes, makes one command, and encodes.
struct LifecycleRoutes: Sendable {
    let runtime: DurableRuntime<LifecycleMachine>

    func add(to table: inout RouteTable) {
        addDevices(&table)
        addApps(&table)
        addWork(&table)
    }

    private func addDevices(_ table: inout RouteTable) {
        let device = "/v1/devices/{device}"
        table.add(
            .put, device, "Registers a device, or describes it anew", access: .scope(.operate),
            request: Registration.self,
            response: LifecycleMachine.self, status: .created
        ) { request, context in
            let registration = try await request.document(as: Registration.self)
            return try await submit(.register(registration), request, context, status: .created)
        }
        table.add(
            .get, device, "The whole state of a device", access: .scope(.read), response: LifecycleMachine.self
        ) { _, context in
            let id = try context.parameters.identifier("device")
            guard let found = try await state(id) else { throw problem(.deviceNotRegistered) }
            return Response(json: found.state.jsonBytes, etag: ETag(version: found.version))
        }
        table.add(.delete, device, "Deregisters a device", access: .scope(.operate), status: .noContent) {
            try await submit(.deregister, $0, $1, status: .noContent)
        }
        table.add(
            .patch, device + "/conditions", "Reports conditions, any subset", access: .scope(.operate),
            request: Conditions.self, response: LifecycleMachine.self
        ) { request, context in
            let conditions = try await request.document(as: Conditions.self)
            return try await submit(.updateConditions(conditions), request, context)
        }
        table.add(
            .post, device + "/power", "Boots, reboots or switches off", access: .scope(.operate), request: Power.self,
            response: LifecycleMachine.self
        ) { request, context in
            try await submit(.power(try await request.document(as: Power.self).event), request, context)
        }
        table.add(
            .put, device + "/settings", "The user's settings for the whole device", access: .scope(.operate),
            request: Settings.self, response: LifecycleMachine.self
        ) { request, context in
            let settings = try await request.document(as: Settings.self)
            return try await submit(.changeSettings(app: nil, settings), request, context)
        }
        table.add(
            .get, device + "/app-switcher", "The app switcher, most recent first", access: .scope(.read),
            response: Switcher.self
        ) { _, context in
            let id = try context.parameters.identifier("device")
            guard let found = try await state(id) else { throw problem(.deviceNotRegistered) }
            return Response(Switcher(found.state), etag: ETag(version: found.version))
        }
    }

    private func addApps(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, app, "Installs an app", access: .scope(.operate), request: Manifest.self, response: AppDocument.self,
            status: .created
        ) { request, context in
            let manifest = try await request.document(as: Manifest.self)
            return try await submit(request, context, status: .created) { .install(app: $0, manifest) }
        }
        table.add(.get, app, "An app", access: .scope(.read), response: InstalledApp.self) { _, context in
            let id = try context.parameters.identifier("device")
            let app = try context.parameters.identifier("app")
            guard let found = try await state(id) else { throw problem(.deviceNotRegistered) }
            guard let record = found.state.apps[app] else { throw problem(.appNotInstalled(app)) }
            return Response(record, etag: ETag(version: found.version))
        }
        table.add(.delete, app, "Uninstalls an app", access: .scope(.operate), status: .noContent) {
            try await submit($0, $1, status: .noContent) { .uninstall(app: $0) }
        }
        table.add(
            .put, app + "/settings", "The user's settings for an app", access: .scope(.operate), request: Settings.self,
            response: AppDocument.self
        ) { request, context in
            let settings = try await request.document(as: Settings.self)
            return try await submit(request, context) { .changeSettings(app: $0, settings) }
        }
        table.add(
            .post, app + "/transitions", "Something happens to an app", access: .scope(.operate),
            request: Transition.self, response: AppDocument.self
        ) { request, context in
            let event = try await request.document(as: Transition.self).event
            return try await submit(request, context) { .transition(app: $0, event) }
        }
        let entry = "/v1/devices/{device}/app-switcher/{app}"
        table.add(.post, entry, "Taps an app in the switcher", access: .scope(.operate), response: AppDocument.self) {
            try await submit($0, $1) { .transition(app: $0, .open) }
        }
        table.add(.delete, entry, "Swipes an app away", access: .scope(.operate), response: AppDocument.self) {
            try await submit($0, $1) { .transition(app: $0, .swipe) }
        }
    }

    private func addWork(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .post, app + "/callbacks/{callback}/completion", "A handler returned", access: .scope(.operate),
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
            .post, app + "/tasks", "Begins a background task", access: .scope(.operate), request: TaskRequest.self,
            response: TaskDocument.self, status: .created
        ) { request, context in
            let task = try await request.document(as: TaskRequest.self)
            return try await submit(request, context, status: .created) { .beginTask(app: $0, task) }
        }
        table.add(
            .delete, app + "/tasks/{task}", "Ends a background task", access: .scope(.operate), status: .noContent
        ) {
            request, context in
            let task = try context.parameters.identifier("task")
            return try await submit(request, context, status: .noContent) { .endTask(app: $0, task: task) }
        }
        table.add(
            .post, app + "/wakes/{wake}/completion", "The handler of a wake is done", access: .scope(.operate),
            request: WakeCompletion.self, response: AppDocument.self
        ) { request, context in
            let wake = try context.parameters.identifier("wake")
            let completion = try await request.document(as: WakeCompletion.self)
            return try await submit(request, context) { .completeWake(app: $0, wake: wake, completion) }
        }
    }

    /// The state of a registered device and the offset of its last event.
    private func state(_ device: String) async throws -> (state: LifecycleMachine, version: Int)? {
        guard let found = try await runtime.state(.device(device)), found.aggregate.state.registration != nil else {
            return nil
        }
        return (found.aggregate.state, found.version)
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
        status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        let device = try context.parameters.identifier("device")
        // The command is the decoded request, so its description stands for all that makes two requests the same.
        let fingerprint = Array(SHA256.hash(data: Array("\(request.method) \(request.uri.path) \(command)".utf8)))
        let submission = Submission<LifecycleMachine>(
            key: .device(device), command: command,
            origin: Origin(id: UUID(), traceparent: context.traceparent.description),
            idempotency: try request.idempotencyKey().map { Idempotency(key: $0, fingerprint: fingerprint) }
        ) { aggregate, events in document(aggregate.state, app, events) }
        let answer: Answer
        do { answer = try await runtime.submit(submission) } catch let refusal as LifecycleRefusal {
            throw problem(refusal)
        } catch let error as RuntimeError {
            throw problem(error)
        }
        var response = status == .noContent ? Response(status: status) : Response(json: answer.body, status: status)
        response.headers[.position] = "\(answer.partition):\(answer.offset)"
        return response
    }
}

extension HTTPField.Name {
    /// How far the log has what a call did; sent along to another service, that one waits until it has taken it in.
    static let position = HTTPField.Name("Dormouse-Position")!
}

/// What a command answers: the begun task, the app with the callbacks delivered, or the device.
private func document(_ state: LifecycleMachine, _ app: String?, _ events: [Event]) -> [UInt8] {
    guard let app else { return state.jsonBytes }
    let own = events.compactMap { try? LifecycleEvent(type: $0.type, version: $0.version, data: $0.data) }
    for case .taskBegun(let begun) in own { return TaskDocument(begun).jsonBytes }
    return AppDocument(app, state.apps[app], own).jsonBytes
}
