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
    /// The order streams that an advance of the clock waits for.
    let listed: ListedStreams
    /// The live order streams of devices.
    let streams = LiveStreams()
    /// The batches in progress.
    let batches = LineBatches()

    func add(to table: inout RouteTable) {
        addDevices(&table)
        addTokens(&table)
        addApps(&table)
        addWork(&table)
        addActivities(&table)
        addPlaces(&table)
        addBluetooth(&table)
        addHealth(&table)
        addNotifications(&table)
        addReports(&table)
        addOrders(&table)
        addFleets(&table)
        addRemoval(&table)
    }

    /// Returns the state of the registered device in the path, and its version.
    func registered(_ call: Call) async throws -> (state: LifecycleMachine, etag: ETag) {
        guard let found = try await commands.read(call), found.aggregate.state.registration != nil else {
            throw LifecycleRefusal.deviceNotRegistered.problem
        }
        return (found.aggregate.state, call.etag(of: found.aggregate))
    }

    /// Throws unless the generation of a device has a feature.
    func require(_ feature: Feature, on device: LifecycleMachine) throws {
        guard let name = device.registration?.profile, !policy[name].has(feature) else { return }
        throw LifecycleRefusal.unsupported(feature, on: policy[name]).problem
    }

    /// Returns the app in the path, with the version of its device.
    func installed(_ call: Call) async throws -> (record: InstalledApp, etag: ETag) {
        let app = try call.app
        let found = try await registered(call)
        guard let record = found.state.apps[app] else { throw LifecycleRefusal.appNotInstalled(app).problem }
        return (record, found.etag)
    }

    /// Submits a command about the app in the path. The answer is the app.
    func app(after command: LifecycleCommand, _ call: Call) async throws -> Reply<AppDocument> {
        let app = try call.app
        return try await commands.submit(command, call) { AppDocument(app, $0, $1) }
    }

    /// Submits a command about the device in the path. The answer is the device's whole state.
    func device(after command: LifecycleCommand, _ call: Call) async throws -> Reply<LifecycleMachine> {
        try await commands.submit(command, call) { aggregate, _ in aggregate.state }
    }
}
