import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Runtime
import ServiceKit
import Telemetry
import Timeline

/// The REST API of `lifecycle`. Each route decodes a request, submits one command and encodes the answer.
struct LifecycleRoutes: Sendable {
    let commands: Commands<LifecycleMachine>
    let tail: LogTail
    let tokens: TokenIssuer
    /// The suite's clock.
    let clock: any SuiteClock
    /// The limits of this deployment.
    let policy: LifecyclePolicy
    /// The history of terminations.
    let terminations: EventHistory<LifecycleEvent.AppTerminated>
    let metrics: Metrics
    /// The live order streams of devices.
    let streams = LiveStreams()

    func add(to table: inout RouteTable) {
        addDevices(&table)
        addTokens(&table)
        addApps(&table)
        addWork(&table)
        addActivities(&table)
        addReports(&table)
        addOrders(&table)
    }

    /// Returns the state of a registered device, its version and the offset of its last event.
    func registered(
        _ request: Request, _ context: ServiceContext
    ) async throws -> (state: LifecycleMachine, etag: ETag, offset: Int) {
        let id = try context.parameters.identifier("device")
        guard let found = try await commands.read(.device(id), request, context),
            found.aggregate.state.registration != nil
        else { throw LifecycleRefusal.deviceNotRegistered.problem }
        return (found.aggregate.state, ETag(version: found.aggregate.eventCount), found.version)
    }

    /// Returns the app in the path, with the version of its device.
    func installed(_ request: Request, _ context: ServiceContext) async throws -> (record: InstalledApp, etag: ETag) {
        let app = try context.parameters.identifier("app")
        let found = try await registered(request, context)
        guard let record = found.state.apps[app] else { throw LifecycleRefusal.appNotInstalled(app).problem }
        return (record, found.etag)
    }

    /// Submits a command about the app in the path. The answer is the app, or the new task.
    func submit(
        _ request: Request, _ context: ServiceContext, status: HTTPResponse.Status = .ok,
        _ command: (String) -> LifecycleCommand
    ) async throws -> Response {
        let app = try context.parameters.identifier("app")
        return try await submit(command(app), request, context, status: status) { aggregate, events in
            for case .taskBegun(let begun) in events { return TaskDocument(begun).jsonBytes }
            return AppDocument(app, aggregate, events).jsonBytes
        }
    }

    /// Submits a command about the device in the path. The answer is the device's whole state.
    func submit(
        _ command: LifecycleCommand, _ request: Request, _ context: ServiceContext,
        status: HTTPResponse.Status = .ok, registers: Bool = false,
        answer: @escaping Commands<LifecycleMachine>.Answering = { aggregate, _ in aggregate.state.jsonBytes }
    ) async throws -> Response {
        let device = try context.parameters.identifier("device")
        return try await commands.submit(
            command, to: .device(device), request, context, status: status, registers: registers, answer: answer)
    }
}
